/** Datasets: the registry of versions, and the routes that the `datachain` client uses. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, AnyMap, Cut, maybe, nextCursor, nullable, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/**
 * The states of a dataset version that the server stores. The numbers come from the `datachain` library, which has
 * further states.
 */
export const versionStatus = { complete: 4, removed: 8 } as const;

const Place = Type.Object({
  id: Type.Integer(),
  uuid: Type.String(),
  name: Type.String(),
  descr: nullable(Type.String()),
  created_at: Timestamp,
});

const Project = Type.Object({ ...Place.properties, namespace: Place });

const versionFields = {
  id: Type.Integer(),
  uuid: Type.String({ description: "permanent id of the version" }),
  dataset_id: Type.Integer(),
  version: Type.String({ description: "three numbers, such as 1.0.2" }),
  status: Type.Integer({ description: "4 complete, 8 removed" }),
  created_at: Timestamp,
  finished_at: nullable(Timestamp),
  error_message: Type.String(),
  error_stack: Type.String(),
  num_objects: nullable(Type.Integer({ description: "number of rows" })),
  size: nullable(Type.Integer({ description: "total size in bytes of the files that the rows refer to" })),
  job_id: nullable(Type.String({ description: "the job that created the version" })),
  removed_at: nullable(Timestamp),
};

const ListedVersion = Type.Object(versionFields);

const DatasetVersion = Type.Object(
  {
    ...versionFields,
    schema: Type.Record(Type.String(), Type.Unknown(), {
      description: "`{type}` of each column, with the type names of the library",
    }),
    feature_schema: AnyMap,
    preview: Type.Unsafe<Record<string, unknown>[] | null>({
      type: ["array", "null"],
      items: { type: "object" },
      description: "the first rows; integers may be larger than 2^53, so parse them without rounding",
    }),
    _preview_loaded: Type.Boolean({
      description:
        "false if the first rows and scripts did not fit into the response; request NAME@VERSION to get them",
    }),
    sources: Type.String(),
    query_script: Type.String({ description: "the script that created the version" }),
    script_output: Type.String(),
    content_hash: nullable(Type.String()),
    pending_metadata_drop: Type.Boolean(),
  },
  { $id: "DatasetVersion" },
);
export type DatasetVersion = Static<typeof DatasetVersion>;

const datasetFields = {
  id: Type.Integer(),
  uuid: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  attrs: Type.Array(Type.String()),
  project: Project,
  created_at: Timestamp,
};

const ListedDataset = Type.Object(
  {
    ...datasetFields,
    versions: Type.Array(ListedVersion, { description: "oldest first; only the newest 10,000 if there are more" }),
    cut: Cut,
  },
  { $id: "ListedDataset" },
);
export type ListedDataset = Static<typeof ListedDataset>;

const Dataset = Type.Object(
  {
    ...datasetFields,
    schema: AnyMap,
    feature_schema: AnyMap,
    versions: Type.Array(DatasetVersion, { description: "oldest first" }),
    _versions_loaded: Type.Boolean(),
  },
  { $id: "Dataset" },
);
export type Dataset = Static<typeof Dataset>;

const NamePart = Type.String({ maxLength: 255 });
const DatasetReference = Type.String({
  maxLength: 1024,
  description:
    "as people type it: name, project.name or namespace.project.name, optionally followed by @1.2.3 where a version is allowed; a short name refers to your namespace and project @username.default",
});
const Version = Type.String({ maxLength: 64, description: "three numbers such as 1.0.2, optionally with a leading v" });

/**
 * Fields that name a dataset. The `datachain` client sends name, namespace and project separately. Other clients may
 * send the full name in `name`.
 */
const named = { name: DatasetReference, namespace: maybe(NamePart), project: maybe(NamePart) };
export const namedInQuery = {
  name: DatasetReference,
  namespace: Type.Optional(NamePart),
  project: Type.Optional(NamePart),
  team_name: Type.Optional(TeamName),
};

const IncludeRemoved = Type.Optional(
  Type.Boolean({ default: false, description: "include versions that were removed" }),
);

export const listDatasets = defineRoute({
  id: "listDatasets",
  method: "GET",
  path: "/api/datachain/datasets",
  tag: "Datasets",
  summary: "List the datasets of a team with their versions, sorted by name",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: "prefix of the name or of the full name" })),
    search: Type.Optional(
      Type.String({ maxLength: 1024, description: "part of the full name, in upper or lower case" }),
    ),
    include_removed: IncludeRemoved,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: "default: as many as fit into a response" }),
    ),
    cursor: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: "from x-next-cursor" })),
    team_name: Type.Optional(TeamName),
  }),
  response: Type.Array(ListedDataset),
  responseHeaders: nextCursor,
});

export const getDataset = defineRoute({
  id: "getDataset",
  method: "GET",
  path: "/api/datachain/datasets/info",
  tag: "Datasets",
  summary: "Read a dataset with the schema and the first rows of each version",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({ ...namedInQuery, include_removed: IncludeRemoved }),
  response: Dataset,
  errors: ["not_found"],
});

export const editDataset = defineRoute({
  id: "editDataset",
  method: "POST",
  path: "/api/datachain/datasets",
  tag: "Datasets",
  summary: "Rename a dataset, or change its description and attributes",
  access: access("DATASETS", "write", "editor"),
  body: Type.Object({
    ...named,
    new_name: maybe(
      Type.String({ maxLength: 255, description: "the new name, without namespace and project, which cannot change" }),
    ),
    description: maybe(Type.String({ maxLength: 65_536, description: "an empty text removes the description" })),
    attrs: maybe(
      Type.Array(Type.String({ maxLength: 255 }), { maxItems: 100, description: "words, or name=value pairs" }),
    ),
    team_name: maybe(TeamName),
  }),
  bodyLimit: "large",
  response: Dataset,
  errors: ["not_found", "wrong_state"],
});

export const removeDataset = defineRoute({
  id: "removeDataset",
  method: "DELETE",
  path: "/api/datachain/datasets",
  tag: "Datasets",
  summary: "Remove a version, or with `force` all versions; removed version numbers are not used again",
  access: access("DATASETS", "write", "editor"),
  body: Type.Object({
    ...named,
    version: maybe(Version),
    force: maybe(Type.Boolean({ description: "must be true to remove all versions" })),
    team_name: maybe(TeamName),
  }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});

export const datasetJobVersions = defineRoute({
  id: "datasetJobVersions",
  method: "GET",
  path: "/api/datachain/datasets/dataset_job_versions",
  tag: "Datasets",
  summary: "List the dataset versions that a job created or reused",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({ job_id: Uuid, team_name: Type.Optional(TeamName) }),
  response: Type.Object({
    dataset_versions: Type.Array(Type.Object({ dataset_name: Type.String(), version: Type.String() })),
  }),
  errors: ["not_found"],
});

export const registerVersion = defineRoute({
  id: "registerVersion",
  method: "POST",
  path: "/api/datachain/datasets/versions",
  tag: "Datasets",
  summary: "Register a version whose rows are stored elsewhere, with its dependencies",
  access: access("DATASETS", "write", "editor"),
  body: Type.Object({
    name: DatasetReference,
    version: maybe({ ...Version, description: "default: the next version; the first is 1.0.0" } as typeof Version),
    uuid: maybe({
      ...Uuid,
      description: "chosen by the caller; registering the same uuid again returns the existing version",
    } as typeof Uuid),
    dependencies: maybe(
      Type.Array(Type.String({ minLength: 1, maxLength: 1000 }), {
        maxItems: 1000,
        description:
          "inputs of the version, each at most 1000 bytes long: dataset names (without a version, the newest is meant) and storage URIs such as s3://bucket/folder",
      }),
    ),
    schema: maybe({ ...AnyMap, description: "the schema, at most 256 KiB of JSON" } as typeof AnyMap),
    num_objects: maybe(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: "number of rows" })),
    size: maybe(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "total size in bytes of the files that the rows refer to",
      }),
    ),
    preview: maybe(
      Type.Array(AnyMap, {
        maxItems: 100,
        description: "the first rows, at most 256 KiB of JSON; numbers keep all their digits",
      }),
    ),
    description: maybe(Type.String({ maxLength: 65_536 })),
    attrs: maybe(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 100 })),
    query_script: maybe(Type.String({ maxLength: 1_048_576, description: "default: the script of the job" })),
    job_id: maybe({
      ...Uuid,
      description:
        "the job that created the version: one of your own jobs, or any job if you are an admin of the team; with the token of a job, only that job itself",
    } as typeof Uuid),
    team_name: maybe(TeamName),
  }),
  bodyLimit: "large",
  keepsNumbers: true,
  response: Type.Object({ dataset_name: Type.String(), version: Type.String(), uuid: Uuid }),
  errors: ["not_found", "wrong_state"],
});
