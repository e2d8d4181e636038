/** Compute clusters: where jobs run. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

export const isolationLevels = ["none", "uid", "bwrap"] as const;

/** The most waiting jobs that are counted for the list of clusters. */
export const clusterLimits = { waiting: 10_000 } as const;

export const Cluster = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    status: oneOf(["ACTIVE", "INACTIVE"], {
      description: "INACTIVE means that the disk is nearly full and no jobs start",
    }),
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
    active_workers: Type.Integer({ description: "number of slots that can run jobs; 0 while INACTIVE" }),
    waiting_jobs: Type.Integer({
      description: `number of waiting jobs of all teams; ${clusterLimits.waiting} means that many or more`,
    }),
    isolation: oneOf(isolationLevels, { description: "how jobs are isolated from the machine and from each other" }),
  },
  { $id: "ComputeClusterOutput" },
);
export type Cluster = Static<typeof Cluster>;

export const listClusters = defineRoute({
  id: "listClusters",
  method: "GET",
  path: "/api/datachain/clusters/",
  tag: "Clusters",
  summary: "List the clusters that accept jobs",
  access: access("CLUSTERS", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Cluster),
});
