/** The loops that start jobs and follow them to their end. */
import type { JobSettings } from "../configuration/groups/jobs.ts";
import type { QuotaSettings } from "../configuration/groups/quotas.ts";
import { archiveLogs } from "../loops/archive-logs.ts";
import { beginRetries } from "../loops/begin-retries.ts";
import { dispatchJobs } from "../loops/dispatch-jobs.ts";
import { enforceLimits } from "../loops/enforce-limits.ts";
import { followAttempts } from "../loops/follow-attempts.ts";
import type { Loop } from "../loops/loop.ts";
import type { Machinery } from "./machinery.ts";

interface JobLoops {
  readonly machinery: Machinery;
  readonly jobs: JobSettings;
  readonly quotas: QuotaSettings;
  readonly publicUrl: () => string;
}

export function jobLoops({ machinery, jobs, quotas, publicUrl }: JobLoops): Loop[] {
  const { execution, warehouses, measures, blobs, archive, hints, bootId } = machinery;
  const { cancelGrace, libraryVersion } = jobs;
  const collecting = new Map<string, Promise<void>>();
  const following = followAttempts({
    ...execution,
    warehouses,
    measures,
    archive,
    cancelGrace,
    hints: hints.keys,
    collecting,
  });
  const settled = async () => {
    await Promise.all(collecting.values());
  };
  return [
    { ...following, settled },
    dispatchJobs({ ...execution, bootId, quotas, blobs, publicUrl, warehouses, libraryVersion }),
    enforceLimits({ ...execution, measures }),
    beginRetries(execution),
    ...(archive ? [archiveLogs({ ...execution, archive })] : []),
  ];
}
