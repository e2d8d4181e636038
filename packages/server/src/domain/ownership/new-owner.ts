/**
 * Checks who may become the owner of a schedule, pipeline or task, and changes the owner. Scripts that others wrote
 * then run with the rights and credentials of the new owner. So a user may take over work, but not give it to another
 * user. An admin of a team may also give it to the team's service account. Only an administrator of the server may give
 * it to anybody.
 */
import { ApiError, isIn, jobStates, roleIncludes, type Scope } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getShortJob, reassignJob } from "../../store/queries/jobs/jobs.ts";
import { holdQueued } from "../../store/queries/jobs/queue.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { standingsIn, type UserRow } from "../../store/queries/people/users.ts";
import { hasNotBegun } from "../../store/queries/people/work.ts";
import { type PipelineRow, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { whyAbsent } from "../access/absence.ts";
import type { Principal, Team } from "../access/principals.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import type { RunAs } from "../lifecycle/run-as.ts";
import { type Repeated, runsWithOriginals } from "../pipelines/update-pipeline-settings.ts";
import { iso } from "../time/clock.ts";
import { type NamedCredentials, replacementFor } from "./work.ts";

type NewOwner = Pick<UserRow, "id" | "username" | "service_team_id">;

/** Throws unless `giver` may give work of the team to the user `to`, and `to` can run jobs in the team. */
export async function requireNewOwner(db: Db, team: Team, giver: Principal, to: NewOwner): Promise<void> {
  const [standing] = await standingsIn(db, team.id, [to.id]);
  const why = standing ? whyAbsent(standing) : "does not exist";
  if (why !== undefined)
    throw new ApiError(
      "wrong_state",
      `${to.username} cannot take over work in the team ${team.name}: ${to.username} ${why}. A new owner is an enabled editor or admin of the team.`,
    );
  if (giver.isAdmin || to.id === giver.userId) return;
  if (to.service_team_id !== team.id)
    throw new ApiError(
      "forbidden",
      `You cannot give this work to ${to.username}: it would run with ${to.username}'s own rights and credentials, which only ${to.username} can lend. ${to.username} must take the work over personally, or an administrator of the server must hand the work over. An admin of the team can give the work to the team's service account.`,
    );
  if (!roleIncludes(team.role, "admin"))
    throw new ApiError(
      "forbidden",
      `Only admins of the team ${team.name} may give work to its service account; your role is ${team.role}. Ask an admin of the team.`,
    );
}

/** Throws if the new owner lacks one of the credential sets that the runs use, unless `force` is set. */
export async function requireSets(
  db: Db,
  to: NewOwner,
  named: readonly NamedCredentials[],
  force: boolean,
): Promise<void> {
  if (force) return;
  const missing: string[] = [];
  for (const one of named)
    if ((await replacementFor(db, to.id, one)) === "missing")
      missing.push(`${one.name} (team ${await teamNameOf(db, one.teamId)})`);
  if (missing.length === 0) return;
  throw new ApiError(
    "wrong_state",
    `${to.username} has no credentials with these names: ${missing.join(", ")}. The runs that use these credentials would fail. Store credentials under these names, for the team or as ${to.username}'s own, or set \`force\` to hand the work over anyway.`,
    { hint: "set_credentials" },
  );
}

/**
 * Returns a `RunAs` with which all runs have the rights of the user `to`. If `to` is the caller (`giver`), the runs get
 * no more scopes than the caller's token has.
 */
export const allAs = (giver: Principal, to: NewOwner): RunAs => ({
  all: to.id,
  ...(to.id === giver.userId ? { scopes: giver.scopes as readonly Scope[] } : {}),
});

/**
 * Sets whose rights the runs of a pipeline have. This applies to runs that have not begun and to all later runs. The
 * caller must have locked the pipeline's row.
 */
export async function setRunAs(db: Db, pipeline: PipelineRow, runAs: RunAs, now: number): Promise<void> {
  const run_as = JSON.stringify(runAs);
  await updatePipeline(db, pipeline.id, { run_as, updated_at: iso(now) });
  if (pipeline.is_template === 1) return;
  for (const repeated of await runsWithOriginals(db, { ...pipeline, run_as })) await reassignDraft(db, repeated);
}

/**
 * Gives the job of a run to its new owner, unless the job has begun. If the job is queued, its queue row is locked
 * first, so that no server starts the job with the old owner's rights meanwhile.
 */
async function reassignDraft(db: Db, { run, original }: Repeated): Promise<void> {
  const { created_job_id: id, status } = run;
  if (id === null || !hasNotBegun(status) || (isIn("waiting", status) && !(await holdQueued(db, id)))) return;
  const draft = await getShortJob(db, id);
  if (!draft) return;
  const { home: _, ...spec } = readSpec(draft);
  const { home } = readSpec(original);
  const { user_id, scopes } = original;
  const changes = { user_id, scopes, spec: JSON.stringify({ ...spec, ...(home === undefined ? {} : { home }) }) };
  await reassignJob(db, id, changes, [...jobStates.draft, ...jobStates.waiting]);
}
