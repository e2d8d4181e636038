/** Exports: the rows of a dataset version as files that a client downloads. */
import { access, defineRoute } from "./routes.ts";
import { oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

const exportStatuses = ["pending", "running", "complete", "failed", "removed"] as const;
export type ExportStatus = (typeof exportStatuses)[number];

const ExportId = Type.String({ maxLength: 64, description: "id that the server returned when the export was created" });

export const exportDataset = defineRoute({
  id: "exportDataset",
  method: "GET",
  path: "/api/datachain/datasets/export",
  tag: "Datasets",
  summary: "Export the rows of a version to files; returns their URLs",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({
    name: Type.String({ maxLength: 1024 }),
    namespace: Type.Optional(Type.String({ maxLength: 255 })),
    project: Type.Optional(Type.String({ maxLength: 255 })),
    version: Type.Optional(Type.String({ maxLength: 64, description: "default: the newest version" })),
    source: Type.Optional(Type.String({ maxLength: 64, description: "ignored" })),
    team_name: Type.Optional(TeamName),
  }),
  response: Type.Object({
    export_id: ExportId,
    signed_urls: Type.Array(Type.String(), {
      description: "URLs of all files; they need no token, and each returns 404 until its file is written",
    }),
  }),
  errors: ["not_found", "wrong_state", "insufficient_storage"],
});

export const exportStatus = defineRoute({
  id: "exportStatus",
  method: "GET",
  path: "/api/datachain/datasets/export-status",
  tag: "Datasets",
  summary: "Read the progress of an export",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({ export_id: ExportId, team_name: Type.Optional(TeamName) }),
  response: Type.Object({
    status: oneOf(exportStatuses),
    files_done: Type.Integer(),
    num_files: Type.Integer(),
    error_message: Type.String({ description: "why the export failed; empty if it did not" }),
  }),
  errors: ["not_found"],
});

export const downloadExport = defineRoute({
  id: "downloadExport",
  method: "GET",
  path: "/api/datachain/datasets/export-files/{export_id}/{file}",
  tag: "Datasets",
  summary: "Download one file of an export: Parquet in an LZ4 frame",
  access: { kind: "public", why: "the URL is signed for this file and expires" },
  params: Type.Object({
    export_id: ExportId,
    file: Type.String({ pattern: "^\\d{1,9}$", description: "the number of a file, from 0" }),
  }),
  query: Type.Object({
    expires: Type.Integer({ minimum: 0, description: "expiry time in seconds since 1970" }),
    signature: Type.String({ maxLength: 128 }),
  }),
  response: Type.String(),
  answersAs: "application/octet-stream",
  errors: ["forbidden", "not_found", "wrong_state"],
});
