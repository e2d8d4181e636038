/** The way in which a job ends, whatever ended it: whoever waits for that end is told in the same write. */
import type { JobStatus } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type Move, movedJob } from "../../store/queries/jobs/jobs.ts";
import { iso } from "../time/clock.ts";
import { takeOffQueue } from "./job-queue.ts";
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

/** A job that waits for slots never begins. False: it does not wait, or has begun. */
export async function cancelWaiting(db: Db, id: string, now: number): Promise<boolean> {
  if (!(await takeOffQueue(db, id))) return false;
  return endJob(db, { id, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes: { finished_at: iso(now) } }, now);
}
