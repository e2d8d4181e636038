/**
 * Finds jobs, tasks, schedules and pipelines that run as a certain user, because they repeat jobs that the user created
 * or because they were transferred to the user.
 */
import { type JobStatus, jobStates, pipelineStates } from "@millrace/contract";
import { sql } from "kysely";
import { type Db, isPostgres } from "../../drivers/store.ts";

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
    .innerJoin("jobs", "jobs.id", "attempts.job_id")
    .select(shown)
    .where("jobs.user_id", "=", userId)
    .orderBy("jobs.id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("jobs.team_id", "=", teamId)).execute();
}

/** Lists the user's queued jobs that are not runs of a pipeline. */
export function waitingJobsOf(db: Db, { userId, teamId }: Whose, limit: number) {
  const query = db
    .selectFrom("queue")
    .innerJoin("jobs", "jobs.id", "queue.job_id")
    .select(shown)
    .where("jobs.user_id", "=", userId)
    .where("jobs.pipeline_id", "is", null)
    .orderBy("jobs.id")
    .limit(limit);
  return (teamId === undefined ? query : query.where("jobs.team_id", "=", teamId)).execute();
}

/**
 * Lists the tasks that the user created, and all tasks that were transferred to any user. The caller must check which
 * of these run as the user.
 */
export function tasksOf(db: Db, { userId, teamId }: Whose) {
  const query = db
    .selectFrom("tasks")
    .innerJoin("jobs", "jobs.id", "tasks.job_id")
    .select(["tasks.job_id", "tasks.team_id", "tasks.next_run", "tasks.run_as", "jobs.user_id", "jobs.name"])
    .select("jobs.spec")
    .where((eb) => eb.or([eb("jobs.user_id", "=", userId), eb("tasks.run_as", "<>", "")]))
    .orderBy("tasks.job_id");
  return (teamId === undefined ? query : query.where("tasks.team_id", "=", teamId)).execute();
}

/**
 * Lists the schedules that the user owns, the schedules that repeat the user's jobs, and all schedules that were
 * transferred to any user.
 */
export function schedulesOf(db: Db, { userId, teamId }: Whose) {
  const query = db
    .selectFrom("schedules")
    .innerJoin("pipelines", "pipelines.id", "schedules.pipeline_id")
    .selectAll("schedules")
    .where((eb) =>
      eb.or([
        eb("schedules.user_id", "=", userId),
        eb("pipelines.run_as", "<>", ""),
        eb.exists(
          eb
            .selectFrom("pipeline_runs")
            .innerJoin("jobs", "jobs.id", "pipeline_runs.job_id")
            .select("jobs.id")
            .whereRef("pipeline_runs.pipeline_id", "=", "pipelines.id")
            .where("jobs.user_id", "=", userId),
        ),
      ]),
    )
    .orderBy("schedules.id");
  return (teamId === undefined ? query : query.where("schedules.team_id", "=", teamId)).execute();
}

const notBegun: readonly JobStatus[] = [...jobStates.draft, ...jobStates.waiting];
export const hasNotBegun = (status: JobStatus | null) => status !== null && notBegun.includes(status);

/** Lists unfinished pipelines that contain a run of this user which has not started. */
export function pipelinesOf(db: Db, { userId, teamId }: Whose) {
  const query = db
    .selectFrom("pipelines")
    .selectAll()
    .where("status", "in", pipelineStates.live)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("pipeline_runs")
          .innerJoin("jobs", "jobs.id", "pipeline_runs.created_job_id")
          .select("jobs.id")
          .whereRef("pipeline_runs.pipeline_id", "=", "pipelines.id")
          .where("jobs.user_id", "=", userId)
          .where("jobs.status", "in", notBegun),
      ),
    )
    .orderBy("id");
  return (teamId === undefined ? query : query.where("team_id", "=", teamId)).execute();
}

/** A run of a pipeline, and what it needs of the job that it repeats. */
export interface RepeatedJob {
  readonly job_id: string;
  /** User who created the job that the run repeats. */
  readonly user_id: number;
  /** State of the run's own job; null if it has none. */
  readonly status: JobStatus | null;
  readonly credentials_name: string | null;
  /** Names of credential sets as JSON. */
  readonly credentials_names: string | null;
}

/** Lists runs of a pipeline after the one that repeats this job, in the order of the jobs, without reading scripts. */
export function repeatedJobs(db: Db, pipelineId: string, after: string, limit: number): Promise<RepeatedJob[]> {
  const field = (name: string) =>
    isPostgres(db)
      ? sql<string | null>`jobs.spec::json ->> ${sql.lit(name)}`
      : sql<string | null>`json_extract(jobs.spec, ${sql.lit(`$.${name}`)})`;
  return db
    .selectFrom("pipeline_runs")
    .innerJoin("jobs", "jobs.id", "pipeline_runs.job_id")
    .leftJoin("jobs as made", "made.id", "pipeline_runs.created_job_id")
    .select(["pipeline_runs.job_id", "jobs.user_id", "made.status"])
    .select([field("credentials_name").as("credentials_name"), field("credentials_names").as("credentials_names")])
    .where("pipeline_runs.pipeline_id", "=", pipelineId)
    .where("pipeline_runs.job_id", ">", after)
    .orderBy("pipeline_runs.job_id")
    .limit(limit)
    .execute();
}

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
