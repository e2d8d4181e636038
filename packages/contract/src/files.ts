/** Files that are attached to jobs. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { oneOf, TeamName } from "./schema.ts";
import { Type } from "./type.ts";

export const UploadedFile = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: "id to pass in `files` of a job" }),
    filename: Type.String(),
    size: Type.Integer(),
    state: oneOf(["pending", "uploaded", "failed"]),
    error: Type.String(),
  },
  { $id: "UploadFileOutput" },
);
export type UploadedFile = Static<typeof UploadedFile>;

export const uploadFile = defineRoute({
  id: "uploadFile",
  method: "POST",
  path: "/api/datachain/jobs/files",
  tag: "Files",
  summary: "Upload a file to attach to jobs",
  access: access("JOB", "write", "editor"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  upload: true,
  response: UploadedFile,
  errors: ["too_large", "unsupported_media_type", "wrong_state", "insufficient_storage"],
});
