/** Builds the loops that start jobs and follow them to their end. */
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
  const { execution, warehouses, measures, blobs, archive, hints } = machinery;
  const { cancelGrace, libraryVersion } = jobs;
  const collecting = new Map<string, Promise<void>>();
  const dispatching = { ...execution, quotas, blobs, publicUrl, libraryVersion };
  const following = { ...execution, warehouses, measures, archive, cancelGrace, collecting };
  const ofEngine = (kind: string) => [
    { ...followAttempts({ ...following, hints: hints.keys(kind) }, kind), settled },
    dispatchJobs(dispatching, kind),
  ];
  const settled = async () => {
    await Promise.all(collecting.values());
  };
  return [
    ...execution.engines.kinds().flatMap(ofEngine),
    enforceLimits({ ...execution, measures }),
    beginRetries(execution),
    ...(archive ? [archiveLogs({ ...execution, archive })] : []),
  ];
}
