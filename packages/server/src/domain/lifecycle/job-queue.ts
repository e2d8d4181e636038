/** How a job waits for slots, and how it stops waiting without having begun. */
import { jobStates } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type JobRow, moveJob } from "../../store/queries/jobs/jobs.ts";
import { dequeue } from "../../store/queries/jobs/queue.ts";
import { type JobSpecFields, readSpec } from "./job-documents.ts";

export const queueRow = (row: JobRow, spec: JobSpecFields = readSpec(row)) => ({
  job_id: row.id,
  team_id: row.team_id,
  cluster_id: row.cluster_id,
  priority: spec.priority,
  slots: spec.workers,
  passed_over: 0,
});

/** Whoever takes the row decides: after this no process of the job will ever exist. False: it does not wait, or has begun. */
export async function takeOffQueue(db: Db, id: string): Promise<boolean> {
  if (!(await dequeue(db, id))) return false;
  await moveJob(db, { id, from: jobStates.waiting, to: "CANCELING_SCHEDULED" });
  return true;
}
