/**
 * Finds the tasks, schedules and pipelines that run in a user's name, and the credentials that they need. This work is
 * shown before the user leaves, and handed over when the user is removed.
 */
import type { Work } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { findOwned } from "../../store/queries/jobs/credentials.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { listTokens } from "../../store/queries/people/tokens.ts";
import {
  hasNotBegun,
  pipelinesOf,
  type RepeatedJob,
  repeatedJobs,
  runningJobsOf,
  schedulesOf,
  tasksOf,
  type Whose,
  waitingJobsOf,
} from "../../store/queries/people/work.ts";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import { getPipeline } from "../../store/queries/pipelines/pipelines.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { ofTeam, ofUser } from "../jobs/credentials.ts";
import { type JobSpecFields, readSpec } from "../lifecycle/job-documents.ts";
import { readRunAs, runsAs } from "../lifecycle/run-as.ts";
import { readSettings, withSettings } from "../pipelines/pipeline-settings.ts";
import type { Repeated } from "../pipelines/update-pipeline-settings.ts";
import { iso } from "../time/clock.ts";

type TaskRow = Awaited<ReturnType<typeof tasksOf>>[number];

/** The credentials that a task, schedule or pipeline needs. */
interface Need {
  /** Names of the credential sets. */
  readonly credentials: readonly string[];
}

/** The tasks, schedules and pipelines of one user that can be handed over. */
export interface FoundWork {
  /** The user, and the team that was searched. If the team is undefined, all teams were searched. */
  readonly whose: Whose;
  readonly tasks: readonly (TaskRow & Need)[];
  /** `runs` is the number of runs that have this user's rights; 0 if the user only owns the schedule. */
  readonly schedules: readonly {
    readonly row: ScheduleRow;
    readonly runs: number;
    readonly credentials: Need["credentials"];
  }[];
  readonly pipelines: readonly {
    readonly row: PipelineRow;
    readonly runs: number;
    readonly credentials: Need["credentials"];
  }[];
}

/**
 * Finds the tasks, schedules and live pipelines that run in a user's name, or that the user owns. `pause` is awaited
 * before each batch of runs, so that other requests can run.
 */
export async function findWork(db: Db, whose: Whose, pause: () => Promise<void>): Promise<FoundWork> {
  const { userId } = whose;
  const tasks = (await tasksOf(db, whose))
    .filter((task) => runsAs(readRunAs(task), task.user_id) === userId)
    .map((task) => ({ ...task, credentials: namesIn(readSpec(task)) }));
  const schedules = [];
  for (const row of await schedulesOf(db, whose)) {
    const template = await getPipeline(db, row.pipeline_id);
    const found = template ? await runsOfUser(db, template, userId, pause) : { runs: 0, credentials: [] };
    if (found.runs > 0 || row.user_id === userId) schedules.push({ row, ...found });
  }
  const pipelines = [];
  for (const row of await pipelinesOf(db, whose))
    pipelines.push({ row, ...(await runsOfUser(db, row, userId, pause, ({ status }) => hasNotBegun(status))) });
  return { whose, tasks, schedules, pipelines };
}

/** Returns the names of the credential sets that a job uses. */
export const namesIn = ({ credentials_name: name, credentials_names: names }: JobSpecFields): readonly string[] =>
  names ?? (name === null || name === undefined ? [] : [name]);

/** Number of runs that one statement reads. */
const runsPart = 200;

/** Counts the runs of a pipeline that have this user's rights, and collects the credential sets that these runs use. */
async function runsOfUser(
  db: Db,
  pipeline: PipelineRow,
  userId: number,
  pause: () => Promise<void>,
  counts: (run: RepeatedJob) => boolean = () => true,
) {
  const runAs = readRunAs(pipeline);
  const settings = readSettings(pipeline);
  const credentials = new Set<string>();
  let runs = 0;
  for (let after = ""; ; ) {
    await pause();
    const part = await repeatedJobs(db, pipeline.id, after, runsPart);
    for (const run of part) {
      if (runsAs(runAs, run.user_id) !== userId || !counts(run)) continue;
      runs++;
      for (const name of namesIn(withSettings(credentialsIn(run), settings))) credentials.add(name);
    }
    if (part.length < runsPart) return { runs, credentials: [...credentials] };
    after = part.at(-1)?.job_id ?? "";
  }
}

const credentialsIn = ({ credentials_name, credentials_names }: RepeatedJob) =>
  ({
    credentials_name,
    ...(credentials_names === null ? {} : { credentials_names: JSON.parse(credentials_names) as string[] }),
  }) as JobSpecFields;

/** Returns the names of the credential sets that these runs use, without duplicates. */
export function credentialsOf(pipeline: PipelineRow, runs: readonly Repeated[]): string[] {
  const settings = readSettings(pipeline);
  return [...new Set(runs.flatMap(({ original }) => namesIn(withSettings(readSpec(original), settings))))];
}

/** The name of a credential set, and the team whose tasks, schedules or pipelines use the set. */
export interface NamedCredentials {
  readonly teamId: number;
  readonly name: string;
}

/** Returns the credential sets that these tasks, schedules and pipelines use, without duplicates. */
export function namedBy({ tasks, schedules, pipelines }: FoundWork): NamedCredentials[] {
  const found = new Map<string, NamedCredentials>();
  const all = [
    ...tasks.map(({ team_id, credentials }) => ({ teamId: team_id, credentials })),
    ...[...schedules, ...pipelines].map(({ row, credentials }) => ({ teamId: row.team_id, credentials })),
  ];
  for (const { teamId, credentials } of all)
    for (const name of credentials) found.set(`${teamId} ${name}`, { teamId, name });
  return [...found.values()];
}

export type Replacement = NonNullable<Work["credentials"][number]["replaced_by"]>;

/**
 * Returns which credential set jobs of this user get under this name: the user's own if there is one, otherwise the
 * team's. Returns `missing` if there is neither.
 */
export async function replacementFor(db: Db, userId: number, { teamId, name }: NamedCredentials): Promise<Replacement> {
  if (await findOwned(db, ofUser(userId), name)) return "own";
  return (await findOwned(db, ofTeam({ id: teamId }), name)) ? "team" : "missing";
}

/** Maximum number of jobs in one answer. Pipelines and tokens have the same limit. */
const mostShown = 100;
/** Maximum number of tasks in one answer. Schedules have the same limit. */
const mostListed = 1000;

/** Builds the API's answer: the work, and which of its credentials a new owner would have or lack. */
export async function describeWork(
  db: Db,
  found: FoundWork,
  newOwner: number | undefined,
  now: number,
): Promise<Omit<Work, "transfer_refused">> {
  const { whose } = found;
  const names = new Map<number, string>();
  const teamOf = async (id: number) => {
    const name = names.get(id) ?? (await teamNameOf(db, id));
    names.set(id, name);
    return name;
  };
  const each = <T, U>(rows: readonly T[], show: (row: T) => Promise<U>) => Promise.all(rows.map(show));
  const under = [...(await runningJobsOf(db, whose, mostShown)), ...(await waitingJobsOf(db, whose, mostShown))];
  // Only administrators of the server see the tokens of a user; admins of a team do not.
  const tokens =
    whose.teamId === undefined
      ? await listTokens(db, whose.userId, iso(now), { before: undefined, limit: mostShown })
      : [];
  return {
    jobs: await each(under.slice(0, mostShown), async ({ team_id, ...job }) => ({
      team: await teamOf(team_id),
      ...job,
    })),
    tasks: await each(found.tasks.slice(0, mostListed), async (task) => ({
      team: await teamOf(task.team_id),
      id: task.job_id,
      name: task.name,
      cron_expression: readSpec(task).cron_expression ?? null,
      next_run: task.next_run,
    })),
    schedules: await each(found.schedules.slice(0, mostListed), async ({ row, runs }) => ({
      team: await teamOf(row.team_id),
      id: row.id,
      name: row.name,
      next_run: row.next_run,
      is_owner: row.user_id === whose.userId,
      runs,
    })),
    pipelines: await each(found.pipelines.slice(0, mostShown), async ({ row, runs }) => ({
      team: await teamOf(row.team_id),
      id: row.id,
      name: row.name,
      status: row.status,
      runs,
    })),
    credentials: await each(await ownCredentials(db, found, newOwner), async ({ teamId, ...set }) => ({
      team: await teamOf(teamId),
      ...set,
    })),
    tokens: tokens.map(({ id, name, last_used_at }) => ({ id, name, last_used_at })),
  };
}

/**
 * Returns the user's own credential sets that the work uses. `replaced_by` tells which set the new owner would use
 * instead; it is null if no new owner is given.
 */
async function ownCredentials(db: Db, found: FoundWork, newOwner: number | undefined) {
  const own: (NamedCredentials & { readonly replaced_by: Replacement | null })[] = [];
  for (const named of namedBy(found)) {
    if ((await replacementFor(db, found.whose.userId, named)) !== "own") continue;
    const replaced_by = newOwner === undefined ? null : await replacementFor(db, newOwner, named);
    own.push({ ...named, replaced_by });
  }
  return own;
}
