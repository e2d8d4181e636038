/** Route that lists the files at a storage URI, for the `datachain` client. */
import { access, defineRoute } from "./routes.ts";
import { maybe, nullable, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

export const listSource = defineRoute({
  id: "listSource",
  method: "POST",
  path: "/api/datachain/ls",
  tag: "Datasets",
  summary: "List a folder; responses and errors are MessagePack",
  access: access("DATASETS", "read", "viewer"),
  body: Type.Object({
    source: Type.String({ maxLength: 4096, description: "a file:// URI inside a folder that jobs may use" }),
    team_name: maybe(TeamName),
  }),
  answersAs: "application/msgpack",
  response: Type.Object({
    data: Type.Array(
      Type.Object({
        name: Type.String(),
        dir_type: Type.Integer({ description: "0 for a file, 1 for a folder" }),
        last_modified: nullable({
          ...Timestamp,
          description: "MessagePack extension type 42: seconds since 1970 and the offset from UTC; null for folders",
        } as typeof Timestamp),
        size: nullable(Type.Integer()),
      }),
    ),
  }),
  errors: ["not_found"],
});
