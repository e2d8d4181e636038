/** The status of a cluster as people see it: what an administrator has set, and what the server sees. */
import type { Cluster } from "@millrace/contract";
import type { ClusterRow } from "../../store/queries/jobs/clusters.ts";

/** What the server sees of its clusters at the moment. */
export interface ClusterSight {
  readonly isDiskLow: boolean;
  /** Returns why a cluster cannot be reached; undefined if it can. */
  whyUnreachable(cluster: number): string | undefined;
}

type Status = Pick<Cluster, "status" | "status_reason">;

export function statusOf({ id, state }: ClusterRow, { isDiskLow, whyUnreachable }: ClusterSight): Status {
  if (state === "DRAINING")
    return {
      status: state,
      status_reason: "An administrator is draining it: it accepts no new jobs, and running jobs go on.",
    };
  if (state === "PAUSED") return { status: state, status_reason: "An administrator has paused it: jobs wait." };
  if (isDiskLow) return { status: "PAUSED", status_reason: "The disk of the server is nearly full: jobs wait." };
  const why = whyUnreachable(id);
  return why === undefined
    ? { status: "ACTIVE", status_reason: null }
    : { status: "UNREACHABLE", status_reason: `It cannot be reached, so jobs wait. ${why}` };
}
