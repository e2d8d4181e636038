/** Compute clusters: where jobs run. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

/** Kind of the engine that runs jobs on the server's own machine, where the datasets are. */
export const localEngine = "local";

/** How jobs on the server's own machine are isolated. */
export const isolationLevels = ["none", "uid", "bwrap"] as const;
/** How jobs on any cluster are isolated. In a `container`, a job has its own files and processes. */
const clusterIsolation = [...isolationLevels, "container"] as const;
export type ClusterIsolation = (typeof clusterIsolation)[number];

/**
 * What an administrator can set. A PAUSED cluster accepts jobs and starts none. A DRAINING one does not accept any
 * either; its running jobs go on.
 */
export const clusterStates = ["ACTIVE", "PAUSED", "DRAINING"] as const;
export type ClusterState = (typeof clusterStates)[number];

/** The most waiting jobs that are counted for the list of clusters. */
export const clusterLimits = { waiting: 10_000 } as const;

export const Cluster = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    status: oneOf([...clusterStates, "UNREACHABLE"], {
      description:
        "PAUSED: no jobs start for now; DRAINING: no jobs start and none are accepted; UNREACHABLE: the engine of the cluster does not answer",
    }),
    status_reason: nullable(Type.String({ description: "why the cluster is not ACTIVE; null if it is" })),
    cloud_provider: Type.String({ description: "`local` means the machine of the server" }),
    cloud_credentials: nullable(Type.String()),
    cloud_region: nullable(Type.String()),
    instance_type: nullable(Type.String()),
    compute_class: nullable(Type.String()),
    disk_size: nullable(Type.String()),
    is_active: Type.Boolean(),
    default: Type.Boolean(),
    max_workers: Type.Integer({ description: "total number of slots" }),
    busy_workers: Type.Integer({ description: "number of slots in use" }),
    active_workers: Type.Integer({ description: "number of slots that can run jobs; 0 while no jobs start" }),
    waiting_jobs: Type.Integer({
      description: `number of waiting jobs of all teams; ${clusterLimits.waiting} means that many or more`,
    }),
    isolation: oneOf(clusterIsolation, { description: "how jobs are isolated from the machine and from each other" }),
  },
  { $id: "ComputeClusterOutput" },
);
export type Cluster = Static<typeof Cluster>;

export const listClusters = defineRoute({
  id: "listClusters",
  method: "GET",
  path: "/api/datachain/clusters/",
  tag: "Clusters",
  summary: "List the clusters that the team may use",
  access: access("CLUSTERS", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Cluster),
});
