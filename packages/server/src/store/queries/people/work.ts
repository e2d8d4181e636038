/**
 * Finds jobs, tasks, schedules and pipelines that run as a certain user, because they repeat jobs that the user created
 * or because they were transferred to the user.
 */
import { type JobStatus, jobStates, pipelineStates } from "@millrace/contract";
import { sql } from "kysely";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Page } from "../pages.ts";

/** The user whose work is searched, and the team to search in; all teams if `teamId` is undefined. */
export interface Whose {
  readonly userId: number;
  readonly teamId: number | undefined;
}

const shown = ["jobs.id", "jobs.team_id", "jobs.name", "jobs.status"] as const;

/** Lists the user's running jobs. */
export function runningJobsOf(db: Db, { userId, teamId }: Whose, limit: number) {
  const query = db
    .selectFrom("attempts")
    // In this order: SQLite would look at all jobs, and search for the attempt of each.
    .crossJoin("jobs")
    .whereRef("jobs.id", "=", "attempts.job_id")
    .select(shown)
    .where("jobs.user_id", "=", userId)
    .orderBy("attempts.job_id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("jobs.team_id", "=", teamId)).execute();
}

/** Lists the user's queued jobs that are not runs of a pipeline. */
export function waitingJobsOf(db: Db, { userId, teamId }: Whose, limit: number) {
  const query = db
    .selectFrom("queue")
    .crossJoin("jobs")
    .whereRef("jobs.id", "=", "queue.job_id")
    .select(shown)
    .where("jobs.user_id", "=", userId)
    .where("jobs.pipeline_id", "is", null)
    .orderBy("queue.job_id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("queue.team_id", "=", teamId)).execute();
}

/** The names of credentials in a job's spec, or in the settings of a pipeline. */
export interface NamedInJson {
  /** The name of one set; null if there is none. */
  readonly credentials_name: string | null;
  /** The names of several sets, as a JSON array; null if there are none. Takes precedence. */
  readonly credentials_names: string | null;
}

/** SQL columns that read the names out of a JSON column, so that the script in it is not read. */
const namesIn = (db: Db, column: string) => {
  const at = (field: string) =>
    isPostgres(db)
      ? sql<string | null>`${sql.ref(column)}::json ->> ${sql.lit(field)}`
      : sql<string | null>`json_extract(${sql.ref(column)}, ${sql.lit(`$.${field}`)})`;
  return [at("credentials_name").as("credentials_name"), at("credentials_names").as("credentials_names")] as const;
};

/**
 * Lists tasks that the user created, and tasks that were transferred to any user, starting after the task `after`. The
 * caller must check which of these run as the user.
 */
export function tasksOf(db: Db, { userId, teamId }: Whose, { after = "", limit }: Page<string>) {
  const cron = isPostgres(db)
    ? sql<string | null>`jobs.spec::json ->> 'cron_expression'`
    : sql<string | null>`json_extract(jobs.spec, '$.cron_expression')`;
  const query = db
    .selectFrom("tasks")
    .innerJoin("jobs", "jobs.id", "tasks.job_id")
    .select(["tasks.job_id", "tasks.team_id", "tasks.next_run", "tasks.run_as", "jobs.user_id", "jobs.name"])
    .select([...namesIn(db, "jobs.spec"), cron.as("cron_expression")])
    .where((eb) => eb.or([eb("jobs.user_id", "=", userId), eb("tasks.run_as", "<>", "")]))
    .where("tasks.job_id", ">", after)
    .orderBy("tasks.job_id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("tasks.team_id", "=", teamId)).execute();
}

/** Lists schedules with what decides as whom their runs run, starting after the schedule `after`. */
export function schedulesIn(db: Db, teamId: number | undefined, { after = 0, limit }: Page<number>) {
  const query = db
    .selectFrom("schedules")
    .innerJoin("pipelines", "pipelines.id", "schedules.pipeline_id")
    .select(["schedules.id", "schedules.team_id", "schedules.name", "schedules.user_id", "schedules.next_run"])
    .select(["schedules.pipeline_id", "pipelines.run_as"])
    .select(namesIn(db, "pipelines.settings"))
    .where("schedules.id", ">", after)
    .orderBy("schedules.id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("schedules.team_id", "=", teamId)).execute();
}

/**
 * Returns the ids of the jobs that a pipeline repeats, or only of those that one of `makers` created. A pipeline has a
 * limited number of runs.
 */
export async function repeatedBy(db: Db, pipelineId: string, makers: readonly number[] | undefined): Promise<string[]> {
  const query = db
    .selectFrom("pipeline_runs")
    .innerJoin("jobs", "jobs.id", "pipeline_runs.job_id")
    .select("jobs.id")
    .where("pipeline_runs.pipeline_id", "=", pipelineId);
  const rows = await (makers === undefined ? query : query.where("jobs.user_id", "in", makers)).execute();
  return rows.map(({ id }) => id);
}

/** Returns the distinct names of credentials of these jobs. The caller passes a limited number of ids. */
export const namesInJobs = (db: Db, ids: readonly string[]): Promise<NamedInJson[]> =>
  db.selectFrom("jobs").select(namesIn(db, "spec")).distinct().where("id", "in", ids).execute();

const notBegun: readonly JobStatus[] = [...jobStates.draft, ...jobStates.waiting];
export const hasNotBegun = (status: JobStatus | null) => status !== null && notBegun.includes(status);

/** SQL condition of the index of unfinished pipelines. SQLite uses that index only if the states are literals. */
const isLive = sql<boolean>`status in (${sql.join(pipelineStates.live.map((state) => sql.lit(state)))})`;

/** A pipeline as the cursor of a walk over the pipelines of one team or of all teams. */
type PipelineCursor = { readonly team_id: number; readonly id: string };

/** Lists unfinished pipelines by team, starting after the pipeline `after`. */
export function livePipelines(db: Db, teamId: number | undefined, { after, limit }: Page<PipelineCursor>) {
  let query = db.selectFrom("pipelines").select(["id", "team_id", "name", "status"]).where(isLive);
  if (teamId !== undefined) query = query.where("team_id", "=", teamId);
  if (after) query = query.where((eb) => eb(eb.refTuple("team_id", "id"), ">", eb.tuple(after.team_id, after.id)));
  return query.orderBy("team_id").orderBy("id").limit(limit).execute();
}

/** Returns the ids of the user's jobs in a pipeline that have not started. A pipeline has a limited number of runs. */
export async function draftsOf(db: Db, pipelineId: string, userId: number): Promise<string[]> {
  const rows = await db
    .selectFrom("pipeline_runs")
    .innerJoin("jobs", "jobs.id", "pipeline_runs.created_job_id")
    .select("jobs.id")
    .where("pipeline_runs.pipeline_id", "=", pipelineId)
    .where("jobs.user_id", "=", userId)
    .where("jobs.status", "in", notBegun)
    .execute();
  return rows.map(({ id }) => id);
}

/** Lists some runs of a pipeline whose own jobs belong to the user and have not started. */
export const draftRunsOf = (db: Db, pipelineId: string, userId: number, limit: number) =>
  db
    .selectFrom("pipeline_runs")
    .innerJoin("jobs", "jobs.id", "pipeline_runs.created_job_id")
    .select(["pipeline_runs.job_id", "pipeline_runs.created_job_id", "jobs.status"])
    .where("pipeline_runs.pipeline_id", "=", pipelineId)
    .where("jobs.user_id", "=", userId)
    .where("jobs.status", "in", notBegun)
    .orderBy("pipeline_runs.position")
    .limit(limit)
    .execute();

/** Lists the distinct creators of the jobs that these pipelines repeat, with the `run_as` setting of each pipeline. */
export const makersOfRuns = (db: Db, pipelineIds: readonly string[]) =>
  db
    .selectFrom("pipeline_runs")
    .innerJoin("pipelines", "pipelines.id", "pipeline_runs.pipeline_id")
    .innerJoin("jobs", "jobs.id", "pipeline_runs.job_id")
    .select(["pipelines.id", "pipelines.run_as", "jobs.user_id"])
    .distinct()
    .where("pipeline_runs.pipeline_id", "in", pipelineIds)
    .execute();
