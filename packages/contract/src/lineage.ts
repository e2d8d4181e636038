/** Lineage of a dataset version: the versions and storages from which it was created, and the jobs that created it. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { maybe, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

export const lineageDirections = ["upstream", "downstream", "both"] as const;

const LineageNode = Type.Object({
  id: Type.String({ description: "the uuid of a version, a storage URI, or the id of a job" }),
  kind: oneOf(["dataset", "storage", "job"]),
  name: Type.String({ description: "full name of a version, or name of a job" }),
  version: maybe(Type.String()),
  removed: Type.Optional(Type.Boolean()),
  num_objects: maybe(Type.Integer()),
  created_at: maybe(Timestamp),
});
export type LineageNode = Static<typeof LineageNode>;

export const Lineage = Type.Object(
  {
    root: Type.String({ description: "id of the requested version" }),
    nodes: Type.Array(LineageNode),
    edges: Type.Array(
      Type.Object({
        from: Type.String({ description: "id of the input" }),
        to: Type.String({ description: "id of the version that was created from the input" }),
        kind: oneOf(["input", "made"], {
          description: "`input`: the job of the version read this input; `made`: the job created the version",
        }),
      }),
    ),
    truncated: Type.Boolean({
      description: "whether nodes are missing because of `depth` or the size of the response",
    }),
  },
  { $id: "Lineage" },
);
export type Lineage = Static<typeof Lineage>;

export const getLineage = defineRoute({
  id: "getLineage",
  method: "GET",
  path: "/api/datachain/datasets/lineage",
  tag: "Datasets",
  summary: "Read the inputs of a version, and the versions that were created from it",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({
    dataset: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: "name of a dataset, optionally followed by @VERSION; default: the newest version",
      }),
    ),
    uuid: Type.Optional({ ...Uuid, description: "uuid of a version, instead of `dataset`" } as typeof Uuid),
    direction: Type.Optional(oneOf(lineageDirections, { default: "both" })),
    depth: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 10, description: "maximum number of steps from the version" }),
    ),
    team_name: Type.Optional(TeamName),
  }),
  response: Lineage,
  errors: ["not_found"],
});
