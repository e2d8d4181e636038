/**
 * The record of a job in its team's warehouse. The datachain library cannot run on behalf of a job without this record.
 */
import { randomUUID } from "node:crypto";
import { oldestLibrary } from "@millrace/contract";
import type { DatasetAccess } from "./dataset-access.ts";
import { jobRuns } from "./statuses.ts";
import { libraryTime } from "./times.ts";

interface Job {
  readonly jobId: string;
  readonly name: string | null;
  readonly query: string;
  /** The library's number for the query type; one of `queryKinds`. */
  readonly kind: number;
  readonly pythonVersion: string | null;
  readonly params: Readonly<Record<string, unknown>>;
}

interface DatasetUse extends DatasetAccess {
  /** Whether a job has used the warehouse before. If true and the warehouse's files are missing, the job fails. */
  readonly made: boolean;
}

/**
 * Returns rows for the library's tables, as JSON: the job and its creator's namespace. The program `datasets.py`
 * inserts these rows.
 */
export function jobRecord(job: Job, use: DatasetUse): string {
  const { made, home, createdAt, workers, runGroupId, rerunFromJobId } = use;
  const created_at = libraryTime(createdAt);
  return JSON.stringify({
    oldest_library: oldestLibrary,
    made,
    namespace: { uuid: randomUUID(), name: home.namespace, created_at },
    job: {
      id: job.jobId,
      name: job.name ?? "",
      status: jobRuns,
      created_at,
      query: job.query,
      query_type: job.kind,
      workers,
      python_version: job.pythonVersion,
      error_message: "",
      error_stack: "",
      params: JSON.stringify(job.params),
      metrics: "{}",
      run_group_id: runGroupId,
      rerun_from_job_id: rerunFromJobId,
      is_remote_execution: 0,
    },
  });
}
