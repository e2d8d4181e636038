/** Browsing storage with a team's credentials: the folders and files at a URI, a page at a time. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { maybe, nullable, oneOf, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

/** Schemes that can be browsed. */
export const storageSchemes = ["file", "s3", "gs", "az"] as const;

/** Maximum number of entries in one answer. */
export const storagePage = 500;

const StorageEntry = Type.Object({
  name: Type.String({ description: "name in the folder, without slashes around it" }),
  kind: oneOf(["folder", "file"]),
  size: nullable(Type.Integer({ description: "size in bytes; null for folders" })),
  last_modified: nullable(Timestamp),
});
export type StorageEntry = Static<typeof StorageEntry>;

export const StorageListing = Type.Object(
  {
    uri: Type.String(),
    entries: Type.Array(StorageEntry),
    next_cursor: nullable(Type.String({ description: "pass it as `cursor` to get the next page" })),
  },
  { $id: "StorageListing" },
);
export type StorageListing = Static<typeof StorageListing>;

export const browseStorage = defineRoute({
  id: "browseStorage",
  method: "POST",
  path: "/api/datachain/storage/list",
  tag: "Datasets",
  summary: "List a folder of a storage with credentials of the team or of your own",
  access: access("JOB", "write", "editor"),
  body: Type.Object({
    uri: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "a folder: s3://, gs:// or az://, or file:// inside a folder that jobs may use",
    }),
    credentials_name: maybe(
      Type.String({ maxLength: 64, description: "name of credentials; without it, requests are anonymous" }),
    ),
    cursor: maybe(Type.String({ maxLength: 4096, description: "`next_cursor` of the page before" })),
    team_name: maybe(TeamName),
  }),
  response: StorageListing,
  errors: ["not_found", "wrong_state"],
});
