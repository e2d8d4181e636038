/** The way in which a job ends, whatever ended it: whoever waits for that end is told in the same write. */
import type { JobStatus } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type Move, movedJob } from "../../store/queries/jobs/jobs.ts";
import { runEnded } from "./pipeline-progress.ts";

interface End extends Move {
  readonly to: JobStatus & ("COMPLETE" | "FAILED" | "CANCELED");
}

/** False: the job was elsewhere. */
export async function endJob(db: Db, end: End, now: number): Promise<boolean> {
  const job = await movedJob(db, end);
  if (job?.pipeline_id) await runEnded(db, job.pipeline_id, job, now);
  return job !== undefined;
}
