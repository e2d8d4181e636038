/** Logs of jobs: raw bytes over HTTP, pages of pieces in JSON, and frames over a WebSocket. */
import type { Static } from "typebox";
import { JobParams, type JobStatus } from "./jobs.ts";
import { fieldLimits } from "./limits.ts";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName, type Uuid } from "./schema.ts";
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

const LogLine = Type.Object({
  offset: Type.Integer({ description: "byte offset of the line in the log" }),
  text: Type.String({
    description:
      "text without its line end; of a text that was written again after CR, only the last version; invalid UTF-8 becomes U+FFFD",
  }),
});
export type LogLine = Static<typeof LogLine>;

export const LogLines = Type.Object(
  {
    first: nullable(
      Type.Integer({ description: "number of the first of these lines, from 1; null while it is not counted yet" }),
    ),
    lines: Type.Array(LogLine, { description: "may have fewer lines than requested, if they are long" }),
    total: nullable(
      Type.Integer({ description: "number of lines so far; null while they are being counted: request them again" }),
    ),
    size: Type.Integer({ description: "bytes of the log so far" }),
    counted: Type.Integer({ description: "bytes whose lines are counted" }),
    complete: Type.Boolean({ description: "true if the job has ended and all its lines are counted" }),
  },
  { $id: "LogLines" },
);
export type LogLines = Static<typeof LogLines>;

const Attempt = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: "only the log of this attempt; default: all attempts in order",
  }),
);

const LineNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const getLogLines = defineRoute({
  id: "getLogLines",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/logs/lines",
  tag: "Logs",
  summary: "Read lines of a job's log by number, or from its end",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    attempt: Attempt,
    first_line: Type.Optional({
      ...LineNumber,
      description: "number of the first line, from 1; default: the last lines",
    } as typeof LineNumber),
    limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 200 })),
  }),
  response: LogLines,
  errors: ["not_found"],
});

export const logSearchKinds = ["literal", "regex", "errors"] as const;

export const LogHits = Type.Object(
  {
    hits: Type.Array(
      Type.Object({
        line: Type.Integer({ description: "number of the line, from 1" }),
        offset: Type.Integer({ description: "byte offset of the line in the log" }),
        text: Type.String({ description: "the text without colours; a long text is truncated" }),
      }),
    ),
    next: nullable(
      Type.Integer({
        description: "pass the value as `first_line` to go on; null if the search reached the current end of the log",
      }),
    ),
  },
  { $id: "LogHits" },
);
export type LogHits = Static<typeof LogHits>;

export const searchLog = defineRoute({
  id: "searchLog",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/logs/search",
  tag: "Logs",
  summary: "Find lines of a job's log; a long search ends after a second and says where to go on",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    attempt: Attempt,
    kind: Type.Optional(
      oneOf(logSearchKinds, {
        default: "literal",
        description:
          "`literal` text; `regex`: a regular expression without back references and lookaround; `errors`: lines that look like errors",
      }),
    ),
    text: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, description: "text or pattern to find; not needed for `errors`" }),
    ),
    match_case: Type.Optional(Type.Boolean({ default: false })),
    first_line: Type.Optional({ ...LineNumber, description: "number of the first line, from 1" } as typeof LineNumber),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 200 })),
  }),
  response: LogHits,
  errors: ["not_found"],
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
    sizes: Type.Optional(
      Type.Boolean({ description: "true sends the size of the log when it has grown, without the log itself" }),
    ),
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
  | { size: number }
  | { job: { id: Static<typeof Uuid>; status: JobStatus } };
