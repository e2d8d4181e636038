/** Builds the loops that start jobs and follow them to their end, except for those of managed clusters. */
import { archiveLogs } from "../loops/archive-logs.ts";
import { beginRetries } from "../loops/begin-retries.ts";
import { fetchFiles } from "../loops/fetch-files.ts";
import { keepClusters } from "../loops/keep-clusters.ts";
import type { Loop } from "../loops/loop.ts";
import { type ClusterLoops, clusterLoops } from "./cluster-loops.ts";

export function jobLoops(wiring: ClusterLoops): Loop[] {
  const { execution, blobs, archive, clusters, local, runners } = wiring.machinery;
  return [
    ...clusterLoops(wiring)(local),
    keepClusters({ ...execution, runners, keepEngines: clusters.keep }),
    beginRetries(execution),
    fetchFiles({ ...execution, blobs }),
    ...(archive ? [archiveLogs({ ...execution, archive })] : []),
  ];
}
