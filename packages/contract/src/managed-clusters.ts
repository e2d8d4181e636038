/** Clusters as administrators of the server manage them. */
import type { Static } from "typebox";
import type { Access } from "./access.ts";
import { engineKindNames, givenOptions } from "./clusters/engine-kinds.ts";
import { Cluster, clusterStates } from "./clusters.ts";
import { defineRoute } from "./routes.ts";
import { AnyMap, maybe, Name, nullable, oneOf, secretText } from "./schema.ts";
import { Type } from "./type.ts";

export const managedClusterLimits = { maxWorkers: 100_000, teams: 1000, secret: 64 * 1024, testSeconds: 300 } as const;

const tag = "Managed clusters";
const administrator = (level: "read" | "write"): Access & { kind: "admin" } => ({
  kind: "admin",
  scope: `ADMIN:${level}`,
  why: "a cluster runs jobs of several teams, and its options belong to the operator",
});
const ClusterParams = Type.Object({ cluster_name: Name });

export const ManagedCluster = Type.Object(
  {
    ...Cluster.properties,
    engine: Type.String({ description: "`local` is the machine of the server" }),
    state: oneOf(clusterStates, { description: "as an administrator has set it" }),
    options: { ...AnyMap, description: "options of the engine" },
    secrets: Type.Array(Type.String(), { description: "names of the secrets that are set; values are never shown" }),
    teams: nullable(Type.Array(Type.String(), { description: "teams that may use the cluster; null means all teams" })),
    default_of: Type.Array(Type.String(), { description: "teams whose jobs run here if they name no cluster" }),
    shares_unisolated: Type.Boolean({
      description: "whether several teams may use the cluster although it does not isolate their jobs",
    }),
  },
  { $id: "ManagedCluster" },
);
export type ManagedCluster = Static<typeof ManagedCluster>;

const Slots = Type.Integer({
  minimum: 1,
  maximum: managedClusterLimits.maxWorkers,
  description: "total number of slots",
});

const settings = {
  max_workers: maybe(Slots),
  teams: maybe(
    Type.Array(Name, {
      maxItems: managedClusterLimits.teams,
      description: "teams that may use the cluster; an empty list means all teams",
    }),
  ),
  default_of: maybe(
    Type.Array(Name, {
      maxItems: managedClusterLimits.teams,
      description: "teams whose jobs run here if they name no cluster",
    }),
  ),
  default: maybe(Type.Boolean({ description: "whether the jobs of all other teams run here if they name no cluster" })),
  shares_unisolated: maybe(
    Type.Boolean({
      description:
        "let several teams use the cluster although its engine does not isolate their jobs: a job could then read the files and secrets of another team's job",
    }),
  ),
  secrets: maybe(
    Type.Record(
      Type.String(),
      secretText(managedClusterLimits.secret, "a secret of the engine, such as a token; an empty text removes it"),
      { description: "secrets of the engine, which are stored encrypted and never shown" },
    ),
  ),
  ...givenOptions,
};

export const listManagedClusters = defineRoute({
  id: "listManagedClusters",
  method: "GET",
  path: "/api/clusters",
  tag,
  summary: "List all clusters with their settings",
  access: administrator("read"),
  response: Type.Array(ManagedCluster),
});

export const createCluster = defineRoute({
  id: "createCluster",
  method: "POST",
  path: "/api/clusters",
  tag,
  summary: "Add a cluster",
  access: administrator("write"),
  bodyLimit: 1024 * 1024,
  body: Type.Object({
    name: Name,
    engine: oneOf(engineKindNames, { description: "kind of the engine that runs the cluster's jobs" }),
    ...settings,
    max_workers: Slots,
  }),
  response: ManagedCluster,
  errors: ["not_found", "wrong_state"],
});

export const getManagedCluster = defineRoute({
  id: "getManagedCluster",
  method: "GET",
  path: "/api/clusters/{cluster_name}",
  tag,
  summary: "Read a cluster with its settings",
  access: administrator("read"),
  params: ClusterParams,
  response: ManagedCluster,
  errors: ["not_found"],
});

export const updateCluster = defineRoute({
  id: "updateCluster",
  method: "PATCH",
  path: "/api/clusters/{cluster_name}",
  tag,
  summary: "Change a cluster: its state, slots, teams, options and secrets",
  access: administrator("write"),
  params: ClusterParams,
  bodyLimit: 1024 * 1024,
  body: Type.Object({
    state: maybe(
      oneOf(clusterStates, {
        description: "PAUSED: jobs wait; DRAINING: no new jobs are accepted either, running jobs go on",
      }),
    ),
    ...settings,
  }),
  response: ManagedCluster,
  errors: ["not_found", "wrong_state"],
});

export const deleteCluster = defineRoute({
  id: "deleteCluster",
  method: "DELETE",
  path: "/api/clusters/{cluster_name}",
  tag,
  summary: "Remove a cluster on which no job runs or waits, or with `force` any; jobs that ran on it stay",
  access: administrator("write"),
  params: ClusterParams,
  query: Type.Object({
    force: Type.Optional(
      Type.Boolean({ description: "remove it with jobs on it: those that run there are lost, those that wait fail" }),
    ),
  }),
  response: Type.Object({ message: Type.String() }),
  errors: ["not_found", "wrong_state"],
});

export const ClusterTest = Type.Object(
  {
    ok: Type.Boolean(),
    steps: Type.Array(
      Type.Object({
        name: Type.String({ description: "what was tried" }),
        ok: Type.Boolean(),
        message: Type.String({ description: "what was seen, and what to do about it" }),
        seconds: Type.Number(),
      }),
    ),
  },
  { $id: "ClusterTest" },
);
export type ClusterTest = Static<typeof ClusterTest>;

export const testCluster = defineRoute({
  id: "testCluster",
  method: "POST",
  path: "/api/clusters/{cluster_name}/test",
  tag,
  summary: "Run a job that does nothing on a cluster, and tell step by step what works",
  access: administrator("write"),
  params: ClusterParams,
  body: Type.Object({
    seconds: maybe(
      Type.Integer({
        minimum: 1,
        maximum: managedClusterLimits.testSeconds,
        description: "how long the job may take to start and end; default 60",
      }),
    ),
  }),
  response: ClusterTest,
  errors: ["not_found", "wrong_state"],
});
