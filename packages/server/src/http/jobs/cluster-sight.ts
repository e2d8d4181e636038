/** What the server sees of its clusters at the moment of a request. */
import type { ClusterSight } from "../../domain/jobs/cluster-status.ts";
import type { JobContext } from "../requests/context.ts";

export const clusterSight = async ({ disk, engines }: Pick<JobContext, "disk" | "engines">): Promise<ClusterSight> => ({
  isDiskLow: await disk.isLow(),
  whyUnreachable: (cluster) => engines.whyUnreachable(cluster),
});
