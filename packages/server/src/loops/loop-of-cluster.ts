/** Names of loops that exist once for each cluster. */
import { localEngine } from "@millrace/contract";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";

export type LoopCluster = Pick<ClusterRow, "id" | "name" | "engine">;

/** Returns the name of a loop. It includes the name of the cluster, except for the server's own machine. */
export const loopName = (loop: string, { name, engine }: LoopCluster) =>
  engine === localEngine ? loop : `${loop} (${name})`;
