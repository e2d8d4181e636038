/** What the states of clusters and the levels of isolation are called. */
import type { Cluster } from "@millrace/contract";
import { Status } from "../look/status.tsx";

export const isolationWords = {
  none: "All jobs run as one user, without isolation",
  uid: "Each job runs as a user of its own",
  bwrap: "Each job runs in a sandbox of its own",
  container: "Each job runs in a container of its own",
} as const satisfies Record<Cluster["isolation"], string>;

const states = {
  ACTIVE: ["COMPLETE", "Active"],
  PAUSED: ["PAUSED", "Starts no jobs"],
  DRAINING: ["PAUSED", "Draining"],
  UNREACHABLE: ["FAILED", "Cannot be reached"],
} as const satisfies Record<Cluster["status"], readonly [string, string]>;

export function ClusterStatus({ cluster: { status } }: { cluster: Pick<Cluster, "status"> }) {
  const [like, word] = states[status];
  return <Status status={like} word={word} />;
}
