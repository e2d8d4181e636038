/**
 * Finds the tasks, schedules and pipelines that run in a user's name, and the credentials that they need. This work is
 * shown before the user leaves, and handed over when the user is removed.
 */
import type { Work } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { parts } from "../../store/queries/batches.ts";
import { namesOwned } from "../../store/queries/jobs/credentials.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { listTokens } from "../../store/queries/people/tokens.ts";
import {
  draftsOf,
  livePipelines,
  type NamedInJson,
  namesInJobs,
  repeatedBy,
  runningJobsOf,
  schedulesIn,
  tasksOf,
  type Whose,
  waitingJobsOf,
} from "../../store/queries/people/work.ts";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import { ofTeam, ofUser } from "../jobs/credentials.ts";
import { namesIn } from "../jobs/job-credentials.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { makersWho, readRunAs, runsAs } from "../lifecycle/run-as.ts";
import { readSettings, withSettings } from "../pipelines/pipeline-settings.ts";
import type { Repeated } from "../pipelines/update-pipeline-settings.ts";
import { iso } from "../time/clock.ts";

type TaskRow = Omit<Awaited<ReturnType<typeof tasksOf>>[number], keyof NamedInJson>;
type OwnedSchedule = Awaited<ReturnType<typeof schedulesIn>>[number];
type LivePipeline = Awaited<ReturnType<typeof livePipelines>>[number];

/** The credentials that a task, schedule or pipeline needs. */
interface Need {
  /** Names of the credential sets. */
  readonly credentials: readonly string[];
}

/** A schedule or pipeline, and the number of its runs that have this user's rights. */
interface WithRuns<Row> extends Need {
  readonly row: Row;
  /** For a schedule, 0 if the user only owns it. */
  readonly runs: number;
}

/** The tasks, schedules and pipelines of one user that can be handed over. */
export interface FoundWork {
  /** The user, and the team that was searched. If the team is undefined, all teams were searched. */
  readonly whose: Whose;
  readonly tasks: readonly (TaskRow & Need)[];
  readonly schedules: readonly WithRuns<OwnedSchedule>[];
  readonly pipelines: readonly WithRuns<LivePipeline>[];
}

/** Waits between two statements of a search. A team may have thousands of pipelines with thousands of runs each. */
export type Pause = () => Promise<void>;

/** Rows per statement. Each row may have a script of some kilobytes, which the database reads to find the names in it. */
const atOnce = 200;

/** Finds the tasks, schedules and live pipelines that run in a user's name, or that the user owns. */
export async function findWork(db: Db, whose: Whose, pause: Pause): Promise<FoundWork> {
  const tasks = await findTasks(db, whose, pause);
  const schedules: WithRuns<OwnedSchedule>[] = [];
  for await (const { row, jobs } of ownedSchedules(db, whose, pause)) {
    // A list in the pipeline's settings replaces the names of each job; an empty one means none.
    const credentials = row.credentials_names === null ? await namesOf(db, jobs, pause) : namesFrom(row);
    schedules.push({ row, runs: jobs.length, credentials: jobs.length === 0 ? [] : credentials });
  }
  const pipelines: WithRuns<LivePipeline>[] = [];
  for await (const { row, jobs } of ownedPipelines(db, whose, pause))
    pipelines.push({ row, runs: jobs.length, credentials: await namesOf(db, jobs, pause) });
  return { whose, tasks, schedules, pipelines };
}

async function findTasks(db: Db, whose: Whose, pause: Pause): Promise<(TaskRow & Need)[]> {
  const found: (TaskRow & Need)[] = [];
  for await (const task of pagesOf(pause, (after: TaskRow | undefined) => tasksOf(db, whose, page(after?.job_id)))) {
    const { credentials_name: _name, credentials_names: _names, ...row } = task;
    if (runsAs(readRunAs(row), row.user_id) === whose.userId) found.push({ ...row, credentials: namesFrom(task) });
  }
  return found;
}

const page = <Cursor>(after: Cursor) => ({ after, limit: atOnce });

/** Reads a list page by page, with a pause before each further page. */
async function* pagesOf<Row>(pause: Pause, read: (after: Row | undefined) => Promise<readonly Row[]>) {
  let rows = await read(undefined);
  while (rows.length > 0) {
    yield* rows;
    if (rows.length < atOnce) return;
    await pause();
    rows = await read(rows.at(-1));
  }
}

/** Finds schedules that the user owns or that run as the user, each with the jobs of the user's runs. */
export async function* ownedSchedules(db: Db, { userId, teamId }: Whose, pause: Pause) {
  const read = (after: OwnedSchedule | undefined) => schedulesIn(db, teamId, page(after?.id));
  for await (const row of pagesOf(pause, read)) {
    const jobs = await repeatedAs(db, row, userId, pause);
    if (jobs.length > 0 || row.user_id === userId) yield { row, jobs };
  }
}

/** Returns the ids of the jobs that a schedule repeats with this user's rights. */
async function repeatedAs(db: Db, row: OwnedSchedule, userId: number, pause: Pause): Promise<string[]> {
  const runAs = readRunAs(row);
  const makers = runAs.all === undefined ? makersWho(runAs, userId) : undefined;
  if (makers?.length === 0 || (makers === undefined && runAs.all !== userId)) return [];
  await pause();
  return repeatedBy(db, row.pipeline_id, makers);
}

/** Finds live pipelines with a run of the user that has not begun, each with the jobs of these runs. */
export async function* ownedPipelines(db: Db, { userId, teamId }: Whose, pause: Pause) {
  const read = (after: LivePipeline | undefined) => livePipelines(db, teamId, page(after));
  for await (const row of pagesOf(pause, read)) {
    await pause();
    const jobs = await draftsOf(db, row.id, userId);
    if (jobs.length > 0) yield { row, jobs };
  }
}

/** Returns the names of the credential sets that these jobs use, without duplicates. */
async function namesOf(db: Db, jobs: readonly string[], pause: Pause): Promise<string[]> {
  const names = new Set<string>();
  for (const part of parts(jobs, atOnce)) {
    await pause();
    for (const named of await namesInJobs(db, part)) for (const name of namesFrom(named)) names.add(name);
  }
  return [...names];
}

const namesFrom = ({ credentials_name, credentials_names }: NamedInJson): readonly string[] =>
  namesIn({
    credentials_name,
    ...(credentials_names === null ? {} : { credentials_names: JSON.parse(credentials_names) as string[] }),
  });

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
 * Returns a function that tells which credential set jobs of this user get under a name: the user's own if there is
 * one, otherwise the team's, or `missing`. It reads the few names that a user and a team may have, however many names
 * are asked for.
 */
export function replacementsFor(db: Db, userId: number): (named: NamedCredentials) => Promise<Replacement> {
  const known = new Map<number | "own", Promise<ReadonlySet<string>>>();
  const namesFor = (key: number | "own") => {
    const names = known.get(key) ?? namesOwned(db, key === "own" ? ofUser(userId) : ofTeam({ id: key }));
    known.set(key, names);
    return names;
  };
  return async ({ teamId, name }) => {
    if ((await namesFor("own")).has(name)) return "own";
    return (await namesFor(teamId)).has(name) ? "team" : "missing";
  };
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
      cron_expression: task.cron_expression,
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
  const before = replacementsFor(db, found.whose.userId);
  const after = newOwner === undefined ? undefined : replacementsFor(db, newOwner);
  for (const named of namedBy(found)) {
    if ((await before(named)) !== "own") continue;
    const replaced_by = after ? await after(named) : null;
    own.push({ ...named, replaced_by });
  }
  return own;
}
