/** What a warehouse must know of a job before the library works as it. */
import { randomUUID } from "node:crypto";
import { oldestLibrary } from "@millrace/contract";
import type { DatasetAccess } from "./dataset-access.ts";
import { jobRuns } from "./statuses.ts";
import { libraryTime } from "./times.ts";

interface Job {
  readonly jobId: string;
  readonly name: string | null;
  readonly query: string;
  /** One of `queryKinds`. */
  readonly kind: number;
  readonly pythonVersion: string | null;
  readonly params: Readonly<Record<string, unknown>>;
}

interface DatasetUse extends DatasetAccess {
  /** Whether the warehouse was used before: then it must still be there. */
  readonly made: boolean;
}

/** The job and its creator's namespace as rows of the library's own tables, for the plug-in `datasets.py`. */
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
