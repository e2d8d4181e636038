/**
 * Who may take over what runs, and how it changes hands. Whoever takes over lends their rights and credentials to scripts
 * that others wrote: so people take over themselves, admins of a team give to its service account, and only
 * administrators of the server give to anybody.
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

/** Throws unless this caller may give work of this team to that user, and that user can run it. */
export async function requireNewOwner(db: Db, team: Team, giver: Principal, to: NewOwner): Promise<void> {
  const [standing] = await standingsIn(db, team.id, [to.id]);
  const why = standing ? whyAbsent(standing) : "is not there";
  if (why !== undefined)
    throw new ApiError(
      "wrong_state",
      `${to.username} cannot take over work in the team ${team.name}: ${to.username} ${why}. A new owner is an enabled editor or admin of the team.`,
    );
  if (giver.isAdmin || to.id === giver.userId) return;
  if (to.service_team_id !== team.id)
    throw new ApiError(
      "forbidden",
      `It would run with ${to.username}'s own rights and credentials, which only ${to.username} can lend: ${to.username} takes it over with a token of theirs, or an administrator of the server gives it to them. An admin of the team can give it to the team's service account.`,
    );
  if (!roleIncludes(team.role, "admin"))
    throw new ApiError(
      "forbidden",
      `Only admins of the team ${team.name} let something run as its service account; you are ${team.role}.`,
    );
}

/** Throws where runs would fail for credentials that the new owner does not have, unless that is wanted. */
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
    `${to.username} has no credentials ${missing.join(", ")}, which the runs name: they would fail. Store credentials under these names, for the team or as ${to.username}'s own, or hand it over all the same with \`force\`.`,
    { hint: "set_credentials" },
  );
}

/** All runs as this user; with no more rights than the token has with which somebody takes over. */
export const allAs = (giver: Principal, to: NewOwner): RunAs => ({
  all: to.id,
  ...(to.id === giver.userId ? { scopes: giver.scopes as readonly Scope[] } : {}),
});

/** Of a pipeline that is held: runs that have not begun change hands, and so do those that are made later. */
export async function setRunAs(db: Db, pipeline: PipelineRow, runAs: RunAs, now: number): Promise<void> {
  const run_as = JSON.stringify(runAs);
  await updatePipeline(db, pipeline.id, { run_as, updated_at: iso(now) });
  if (pipeline.is_template === 1) return;
  for (const repeated of await runsWithOriginals(db, { ...pipeline, run_as })) await reassignDraft(db, repeated);
}

/** What waits for slots is held by its row in the queue: whoever starts it has read whose it is. */
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
