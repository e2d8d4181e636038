/** Rows of the queue, in which jobs wait for slots of their cluster. */
import type { JobRow } from "../../store/queries/jobs/jobs.ts";
import { type JobSpecFields, readSpec } from "./job-documents.ts";

export const queueRow = (row: JobRow, spec: JobSpecFields = readSpec(row)) => ({
  job_id: row.id,
  team_id: row.team_id,
  cluster_id: row.cluster_id,
  priority: spec.priority,
  slots: spec.workers,
  passed_over: 0,
});
