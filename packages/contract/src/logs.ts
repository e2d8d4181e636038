/** Logs of jobs: raw bytes over HTTP, pages of pieces in JSON, and frames over a WebSocket. */
import type { Static } from "typebox";
import { JobParams, type JobStatus } from "./jobs.ts";
import { fieldLimits } from "./limits.ts";
import { access, defineRoute } from "./routes.ts";
import { nullable, TeamName, type Uuid } from "./schema.ts";
import { Type } from "./type.ts";

const LogPiece = Type.Object({
  id: Type.Integer({ minimum: 1, description: "byte offset of the piece plus 1" }),
  message: Type.String({ description: "text with its line end; invalid UTF-8 becomes U+FFFD" }),
});
export type LogPiece = Static<typeof LogPiece>;

export const LogPage = Type.Object(
  {
    logs: Type.Array(LogPiece),
    next: nullable(
      Type.Integer({
        description:
          "pass the value as `after` to get the next page; null if the job has ended and its log has no more pages",
      }),
    ),
    complete: Type.Boolean({ description: "true if the job has ended and this page reaches the end of its log" }),
  },
  { $id: "LogPage" },
);
export type LogPage = Static<typeof LogPage>;

const LogsQuery = Type.Object({
  team_name: Type.Optional(TeamName),
  format: Type.Optional(Type.Unsafe<"text" | "json">({ type: "string", enum: ["text", "json"] })),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "for JSON: the byte offset to start at; pass `next` of the previous page",
    }),
  ),
  attempt: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "only the log of this attempt; default: all attempts in order",
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10000,
      default: 1000,
      description: "for JSON: maximum number of pieces in a page",
    }),
  ),
});

export const getJobLogs = defineRoute({
  id: "getJobLogs",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/logs",
  tag: "Logs",
  summary: "Read the log of a job, during the run and after it",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: LogsQuery,
  response: LogPage,
  alsoAnswers: {
    "text/plain":
      "The raw bytes of the log, unless `format` or the Accept header requests JSON; the Range header is supported.",
  },
  errors: ["not_found", "range_not_satisfiable"],
});

export const followLogs = defineRoute({
  id: "followLogs",
  method: "GET",
  path: "/api/logs/follow/",
  tag: "Logs",
  summary: "Follow a job: a WebSocket of JSON frames with log pieces and statuses",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({
    job_id: Type.String({ maxLength: fieldLimits.name, description: "id of the job" }),
    team_name: Type.Optional(TeamName),
    no_follow: Type.Optional(Type.Boolean({ description: "true sends statuses only, without the log" })),
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "the byte offset to start at: the `id` of the first wanted piece minus 1",
      }),
    ),
  }),
  response: Type.Object({ message: Type.String() }),
  socket: true,
  errors: ["bad_request"],
});

/**
 * A frame that the server sends over the WebSocket. Each frame has one of these shapes. Clients ignore frames with
 * other keys.
 */
export type LogFrame =
  | { type: "ping" }
  | { message: string }
  | { logs: LogPiece[] }
  | { job: { id: Static<typeof Uuid>; status: JobStatus } };
