/** Chooses a cluster for a job, and lists clusters with their free and busy slots. */
import { type Cluster, clusterLimits, invalid, type JobInput } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { busySlots } from "../../store/queries/jobs/attempts.ts";
import { allClusters, type ClusterRow, clustersOfTeam } from "../../store/queries/jobs/clusters.ts";
import { countWaiting } from "../../store/queries/jobs/queue.ts";
import { type ClusterSight, statusOf } from "./cluster-status.ts";

type Wanted = Pick<JobInput, "compute_cluster_id" | "compute_cluster_name">;

/**
 * Returns the cluster that a job names, or the default cluster if it names none. Throws if the job needs more slots
 * than the cluster has.
 */
export async function resolveCluster(db: Db, teamId: number, wanted: Wanted, slots: number): Promise<ClusterRow> {
  const cluster = chooseCluster(await clustersOfTeam(db, teamId), wanted);
  if (cluster.state === "DRAINING")
    throw invalid("compute_cluster_name", `a cluster that accepts jobs (an administrator is draining ${cluster.name})`);
  if (slots > cluster.max_workers) {
    throw invalid(
      "workers",
      `at most ${cluster.max_workers} (the number of slots of the cluster ${cluster.name})`,
      slots,
    );
  }
  return cluster;
}

function chooseCluster(
  clusters: ClusterRow[],
  { compute_cluster_id: id, compute_cluster_name: text }: Wanted,
): ClusterRow {
  const name = text?.trim() || undefined;
  if (name !== undefined && id != null) {
    throw invalid("compute_cluster_name, compute_cluster_id", "only one of the two, got both");
  }
  // The client sends `--cluster 1` as a name. A cluster with the name "1" takes precedence over the cluster with the id 1.
  const found =
    name !== undefined
      ? (clusters.find((c) => c.name === name) ?? clusters.find((c) => String(c.id) === name))
      : clusters.find((c) => (id == null ? c.is_default === 1 : c.id === id));
  if (found) return found;
  const field = name !== undefined ? "compute_cluster_name" : "compute_cluster_id";
  const active = clusters.map((c) => `${c.name} (${c.id})`).join(", ") || "the active clusters (there are none)";
  const why = name === undefined && id == null ? ", because there is no default cluster" : "";
  throw invalid(field, `one of ${active}${why}`, name ?? id ?? undefined);
}

/** Returns the cluster with this name or id, even if it no longer accepts jobs. Throws if there is none. */
export async function findCluster(db: Db, text: string): Promise<ClusterRow> {
  const clusters = await allClusters(db);
  const found = clusters.find(({ name }) => name === text) ?? clusters.find(({ id }) => String(id) === text);
  if (found) return found;
  throw invalid("cluster", `one of ${clusters.map(({ id, name }) => `${name} (${id})`).join(", ")}`, text);
}

/** Lists the clusters that a team may use. */
export async function listClusters(db: Db, teamId: number, sight: ClusterSight): Promise<Cluster[]> {
  const clusters = await clustersOfTeam(db, teamId);
  return Promise.all(clusters.map((row) => showCluster(db, row, sight)));
}

export async function showCluster(db: Db, row: ClusterRow, sight: ClusterSight): Promise<Cluster> {
  const { status, status_reason } = statusOf(row, sight);
  return {
    id: row.id,
    name: row.name,
    status,
    status_reason,
    cloud_provider: row.engine,
    cloud_credentials: null,
    cloud_region: null,
    instance_type: null,
    compute_class: null,
    disk_size: null,
    is_active: true,
    default: row.is_default === 1,
    max_workers: row.max_workers,
    busy_workers: await busySlots(db, row.id),
    active_workers: status === "ACTIVE" ? row.max_workers : 0,
    waiting_jobs: await countWaiting(db, row.id, clusterLimits.waiting),
    isolation: row.isolation,
  };
}
