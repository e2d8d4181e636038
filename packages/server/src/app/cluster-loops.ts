/** Builds the loops that each cluster has of its own, so that a slow cluster delays no other. */
import type { JobSettings } from "../configuration/groups/jobs.ts";
import type { QuotaSettings } from "../configuration/groups/quotas.ts";
import { dispatchJobs } from "../loops/dispatch-jobs.ts";
import { enforceLimits } from "../loops/enforce-limits.ts";
import { followAttempts } from "../loops/follow-attempts.ts";
import type { Loop } from "../loops/loop.ts";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";
import type { Machinery } from "./machinery.ts";

export interface ClusterLoops {
  readonly machinery: Machinery;
  readonly jobs: JobSettings;
  readonly quotas: QuotaSettings;
  readonly publicUrl: () => string;
}

export function clusterLoops({ machinery, jobs, quotas, publicUrl }: ClusterLoops): (cluster: ClusterRow) => Loop[] {
  const { execution, warehouses, measures, blobs, archive, hints } = machinery;
  const { cancelGrace, libraryVersion } = jobs;
  const dispatching = { ...execution, quotas, blobs, publicUrl, libraryVersion };
  const following = { ...execution, warehouses, measures, archive, cancelGrace };
  return (cluster) => [
    followAttempts({ ...following, collecting: new Map(), hints: hints.keys(cluster.id) }, cluster),
    dispatchJobs(dispatching, cluster),
    enforceLimits({ ...execution, measures }, cluster),
  ];
}
