/** Compute clusters: where jobs run. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

export const isolationLevels = ["none", "uid", "bwrap"] as const;

export const Cluster = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    status: oneOf(["ACTIVE", "INACTIVE"], { description: "INACTIVE: starts no jobs now, for want of free disk" }),
    cloud_provider: Type.String({ description: "`local` for the machine of the server" }),
    cloud_credentials: nullable(Type.String()),
    cloud_region: nullable(Type.String()),
    instance_type: nullable(Type.String()),
    compute_class: nullable(Type.String()),
    disk_size: nullable(Type.String()),
    is_active: Type.Boolean(),
    default: Type.Boolean(),
    max_workers: Type.Integer({ description: "slots" }),
    busy_workers: Type.Integer({ description: "slots in use" }),
    active_workers: Type.Integer({ description: "slots up and running; 0 while INACTIVE" }),
    isolation: oneOf(isolationLevels, { description: "what stands between a job and the machine" }),
  },
  { $id: "ComputeClusterOutput" },
);
export type Cluster = Static<typeof Cluster>;

export const listClusters = defineRoute({
  id: "listClusters",
  method: "GET",
  path: "/api/datachain/clusters/",
  tag: "Clusters",
  summary: "List the clusters that take jobs",
  access: access("CLUSTERS", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Cluster),
});
