/**
 * Checks who may become the owner of a schedule, pipeline or task, and changes the owner. Scripts that others wrote
 * then run with the rights and credentials of the new owner. So a user may take over work, but not give it to another
 * user. An admin of a team may also give it to the team's service account. Only an administrator of the server may give
 * it to anybody.
 */
import { ApiError, isIn, jobStates, roleIncludes, type Scope } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { getShortJobs, reassignJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { holdQueued } from "../../store/queries/jobs/queue.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { standingsIn, type UserRow } from "../../store/queries/people/users.ts";
import { hasNotBegun } from "../../store/queries/people/work.ts";
import { type PipelineRow, type RunState, runsOf, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { whyAbsent } from "../access/absence.ts";
import type { Principal, Team } from "../access/principals.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { allInNameOf, type RunAs } from "../lifecycle/run-as.ts";
import { iso } from "../time/clock.ts";
import { type NamedCredentials, replacementsFor } from "./work.ts";

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

/** Maximum number of missing credential sets that an error names. */
const mostNamed = 20;

/** Throws if the new owner lacks one of the credential sets that the runs use, unless `force` is set. */
export async function requireSets(
  db: Db,
  to: NewOwner,
  named: readonly NamedCredentials[],
  force: boolean,
): Promise<void> {
  if (force) return;
  const replacement = replacementsFor(db, to.id);
  const missing: NamedCredentials[] = [];
  for (const one of named) if ((await replacement(one)) === "missing") missing.push(one);
  if (missing.length === 0) return;
  const shown: string[] = [];
  for (const { name, teamId } of missing.slice(0, mostNamed))
    shown.push(`${name} (team ${await teamNameOf(db, teamId)})`);
  const more = missing.length > mostNamed ? ` and ${missing.length - mostNamed} others` : "";
  throw new ApiError(
    "wrong_state",
    `${to.username} has no credentials with these names: ${shown.join(", ")}${more}. The runs that use these credentials would fail. Store credentials under these names, for the team or as ${to.username}'s own, or set \`force\` to hand the work over anyway.`,
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
export async function setRunAs(
  db: Db,
  pipeline: Pick<PipelineRow, "id" | "is_template">,
  runAs: RunAs,
  now: number,
): Promise<void> {
  await setLaterRunAs(db, pipeline.id, runAs, now);
  if (pipeline.is_template === 1) return;
  const drafts = (await runsOf(db, pipeline.id)).filter(({ status }) => hasNotBegun(status));
  await reassignDrafts(db, drafts, runAs);
}

/** Sets whose rights the later runs of a pipeline have; existing runs stay as they are. */
export const setLaterRunAs = (db: Db, pipelineId: string, runAs: RunAs, now: number) =>
  updatePipeline(db, pipelineId, { run_as: JSON.stringify(runAs), updated_at: iso(now) });

/** Runs whose jobs are given to the new owner before other work gets the event loop. */
const reassignedAtOnce = 100;

type Draft = Pick<RunState, "job_id" | "created_job_id" | "status">;

/** Gives the jobs of these runs to their new owner, unless they have begun. The caller must have locked the pipeline. */
export const reassignDrafts = (db: Db, runs: readonly Draft[], runAs: RunAs): Promise<void> =>
  eachPart(runs, (part) => reassignPart(db, part, JSON.stringify(runAs)), reassignedAtOnce);

/**
 * The queue rows of queued jobs are locked first, so that no server starts a job with the old owner's rights meanwhile.
 */
async function reassignPart(db: Db, runs: readonly Draft[], run_as: string): Promise<void> {
  const waiting = runs.flatMap(({ created_job_id, status }) => (isIn("waiting", status) ? (created_job_id ?? []) : []));
  const held = await holdQueued(db, waiting);
  const begun = new Set(waiting.filter((id) => !held.has(id)));
  const own = runs.flatMap(({ job_id, created_job_id: id }) => (id === null || begun.has(id) ? [] : { job_id, id }));
  const drafts = await byIds(
    db,
    own.map(({ id }) => id),
  );
  const found = await getShortJobs(
    db,
    own.map(({ job_id }) => job_id),
  );
  const originals = new Map((await allInNameOf(db, { run_as }, found)).map((job) => [job.id, job]));
  const changes = own.flatMap(({ id, job_id }) => {
    const [draft, original] = [drafts.get(id), originals.get(job_id)];
    return draft && original ? [inNameOfOriginal(draft, original)] : [];
  });
  await reassignJobs(db, changes, [...jobStates.draft, ...jobStates.waiting]);
}

const byIds = async (db: Db, ids: readonly string[]) =>
  new Map((await getShortJobs(db, ids)).map((job) => [job.id, job]));

/** Returns what changes of a draft if it gets the user, the scopes and the home of its original. */
function inNameOfOriginal(draft: ShortJob, original: ShortJob) {
  const { home: _, ...spec } = readSpec(draft);
  const { home } = readSpec(original);
  const { user_id, scopes } = original;
  return {
    ...{ id: draft.id, user_id, scopes },
    spec: JSON.stringify({ ...spec, ...(home === undefined ? {} : { home }) }),
  };
}
