/** Queries on the schedules that led to a job: through its pipeline, or through the job that created it. */
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";

const ofJob = prepared<{ jobId: string }>()((db, value) =>
  db
    .selectFrom("jobs")
    .leftJoin("pipelines", "pipelines.id", "jobs.pipeline_id")
    .leftJoin("job_chains", "job_chains.job_id", "jobs.id")
    .select(["pipelines.chain as of_pipeline", "job_chains.chain as of_job"])
    .where("jobs.id", "=", value("jobId")),
);
/** Returns the ids of the schedules that led to a job, as a JSON array; null if none did. */
export async function chainOfJob(db: Db, jobId: string): Promise<string | null> {
  const [row] = (await ofJob(db, { jobId })).rows;
  return row?.of_pipeline ?? row?.of_job ?? null;
}

export const insertJobChain = (db: Db, job_id: string, chain: string) =>
  db.insertInto("job_chains").values({ job_id, chain }).execute();
