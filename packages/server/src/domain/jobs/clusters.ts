/** Clusters: which one a job asks for, and how busy they are. */
import { type Cluster, invalid, type JobInput } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { busySlots } from "../../store/queries/jobs/attempts.ts";
import { activeClusters, allClusters, type ClusterRow } from "../../store/queries/jobs/clusters.ts";

type Wanted = Pick<JobInput, "compute_cluster_id" | "compute_cluster_name">;

/** The cluster that a job asks for, or the default; a job that could never fit is refused now. */
export async function resolveCluster(db: Db, wanted: Wanted, slots: number): Promise<ClusterRow> {
  const cluster = chooseCluster(await activeClusters(db), wanted);
  if (slots > cluster.max_workers) {
    throw invalid("workers", `at most ${cluster.max_workers}, all that the cluster ${cluster.name} has`, slots);
  }
  return cluster;
}

function chooseCluster(
  clusters: ClusterRow[],
  { compute_cluster_id: id, compute_cluster_name: text }: Wanted,
): ClusterRow {
  const name = text?.trim() || undefined;
  if (name !== undefined && id != null) {
    throw invalid("compute_cluster_name, compute_cluster_id", "one of the two, not both");
  }
  // `--cluster 1` arrives as a name; a name that somebody gave wins over the number.
  const found =
    name !== undefined
      ? (clusters.find((c) => c.name === name) ?? clusters.find((c) => String(c.id) === name))
      : clusters.find((c) => (id == null ? c.is_default === 1 : c.id === id));
  if (found) return found;
  const field = name !== undefined ? "compute_cluster_name" : "compute_cluster_id";
  throw invalid(field, `one of ${clusters.map((c) => `${c.name} (${c.id})`).join(", ")}`, name ?? id);
}

/** A cluster by name or id, also one that takes no jobs any more. */
export async function findCluster(db: Db, text: string): Promise<ClusterRow> {
  const clusters = await allClusters(db);
  const found = clusters.find(({ name }) => name === text) ?? clusters.find(({ id }) => String(id) === text);
  if (found) return found;
  throw invalid("cluster", `one of ${clusters.map(({ id, name }) => `${name} (${id})`).join(", ")}`, text);
}

/** `isPaused`: nothing is started there now, for want of free disk, or because its engine cannot be reached. */
export async function listClusters(db: Db, isPaused: (cluster: ClusterRow) => boolean): Promise<Cluster[]> {
  const clusters = await activeClusters(db);
  return Promise.all(
    clusters.map(async (row) => ({
      id: row.id,
      name: row.name,
      status: isPaused(row) ? ("INACTIVE" as const) : ("ACTIVE" as const),
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
      active_workers: isPaused(row) ? 0 : row.max_workers,
      isolation: row.isolation,
    })),
  );
}
