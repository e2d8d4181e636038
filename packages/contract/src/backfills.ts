/** Backfills: runs of a pipeline for past times. Each such time is called a moment. */
import type { Static } from "typebox";
import { pipelineStatuses } from "./pipelines.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, nextCursor, nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/**
 * States of a backfill. FAILED means that at least one run failed. If `on_failure` is `stop`, later times may then have
 * no run.
 */
const backfillStatuses = ["RUNNING", "COMPLETED", "FAILED", "CANCELED"] as const;
export type BackfillStatus = (typeof backfillStatuses)[number];

/** What a backfill does after a failed run: it stops, or it continues with its other times. */
export const backfillFailurePolicies = ["stop", "continue"] as const;
export type BackfillFailurePolicy = (typeof backfillFailurePolicies)[number];

export const backfillLimits = {
  /** Maximum number of past times (moments) of one backfill. */
  moments: 1000,
  /** Maximum number of runs of one backfill that are active at the same time. */
  parallel: 100,
  /** Maximum number of unfinished backfills of a team. */
  running: 20,
} as const;

const parallel = Type.Integer({
  minimum: 1,
  maximum: backfillLimits.parallel,
  description: "maximum number of parallel runs; 1 runs them in order, one after another",
});
const onFailure = oneOf(backfillFailurePolicies, {
  description: "after a failed run, `stop` starts no more runs and `continue` runs the other moments",
});

const shownFields = {
  id: Type.Integer(),
  pipeline_name: Type.String({ description: "the pipeline that was copied" }),
  status: oneOf(backfillStatuses, { description: "FAILED means that a run failed and no more runs will start" }),
  cron_expression: Type.String({ description: "cron expression whose ticks are the moments" }),
  timezone: Type.String({ description: "an IANA name" }),
  from: { ...Timestamp, description: "the first moment" },
  to: { ...Timestamp, description: "the last moment" },
  parallel,
  on_failure: onFailure,
  total: Type.Integer({ description: "number of moments" }),
  waiting: Type.Integer({ description: "moments that have had no run yet" }),
  running: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer({ description: "moments whose newest run failed or was canceled" }),
  last_error: nullable(
    Type.String({
      description: "why the last attempt to start a run failed; null once a run has started",
    }),
  ),
  created_by: Type.String({ description: "user name" }),
  created_at: Timestamp,
  updated_at: Timestamp,
  finished_at: nullable(Timestamp),
};

export const BackfillItem = Type.Object(shownFields, { $id: "BackfillItem" });
export type BackfillItem = Static<typeof BackfillItem>;

const BackfillMoment = Type.Object(
  {
    moment: Timestamp,
    status: oneOf(["WAITING", ...pipelineStatuses], {
      description: "status of the newest run for this moment; WAITING means that there is none yet",
    }),
    pipeline_id: nullable(Uuid),
    pipeline_name: nullable(Type.String({ description: "name of the newest run for this moment" })),
    error_message: nullable(Type.String({ description: "why that run failed" })),
  },
  { $id: "BackfillMoment" },
);
export type BackfillMoment = Static<typeof BackfillMoment>;

export const Backfill = Type.Object(
  {
    ...shownFields,
    template_name: Type.String({
      description: "the template that every run copies; change it with `pipeline/settings`",
    }),
    moments: Type.Array(BackfillMoment, { description: "oldest moment first" }),
  },
  { $id: "Backfill" },
);
export type Backfill = Static<typeof Backfill>;

const BackfillOutput = Type.Object({ ok: Type.Boolean(), backfill: Backfill }, { $id: "BackfillOutput" });

const BackfillId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const time = "ISO 8601; a time without an offset is in `timezone`";

const every = Type.String({ maxLength: 255, description: "hour, day (default), week, month, or a cron expression" });
const zone = Type.String({ maxLength: 64, description: "an IANA name such as Europe/Berlin; default UTC" });
const range = {
  from: Type.String({ maxLength: 64, description: `start of the range, inclusive: ${time}` }),
  to: Type.String({ maxLength: 64, description: `end of the range, inclusive and in the past: ${time}` }),
};

const CreateBackfillInput = Type.Object(
  {
    team_name: maybe(TeamName),
    pipeline_name: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "the pipeline to copy, which may be the template of a schedule; it is not changed",
    }),
    ...range,
    every: maybe(every),
    timezone: maybe(zone),
    parallel: maybe(parallel),
    on_failure: maybe(onFailure),
  },
  { $id: "CreateBackfillInput" },
);
export type CreateBackfillInput = Static<typeof CreateBackfillInput>;

/** Access for changes. A job's token is not accepted, because a backfill continues after the job has ended. */
const write = { ...access("PIPELINES", "write", "editor"), people: true } as const;
const read = access("PIPELINES", "read", "viewer");
const OneBackfill = Type.Object({ team_name: maybe(TeamName), backfill_id: BackfillId }, { $id: "BackfillInput" });

export const createBackfill = defineRoute({
  id: "createBackfill",
  method: "POST",
  path: "/api/datachain/pipeline/backfill",
  tag: "Backfills",
  summary: `Run a copy of a pipeline for past moments, at most ${backfillLimits.moments}`,
  access: write,
  body: CreateBackfillInput,
  response: BackfillOutput,
  errors: ["not_found", "wrong_state", "insufficient_storage"],
});

export const getBackfill = defineRoute({
  id: "getBackfill",
  method: "GET",
  path: "/api/datachain/pipeline/backfill",
  tag: "Backfills",
  summary: "Read one backfill with its moments and the status of each",
  access: read,
  query: Type.Object({ team_name: Type.Optional(TeamName), backfill_id: BackfillId }),
  response: Backfill,
  errors: ["not_found"],
});

export const listBackfills = defineRoute({
  id: "listBackfills",
  method: "GET",
  path: "/api/datachain/pipeline/backfills",
  tag: "Backfills",
  summary: "List the backfills of a team, newest first, without their moments",
  access: read,
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    cursor: Type.Optional({ ...BackfillId, description: "from x-next-cursor" } as typeof BackfillId),
  }),
  response: Type.Array(BackfillItem),
  responseHeaders: nextCursor,
});

export const cancelBackfill = defineRoute({
  id: "cancelBackfill",
  method: "POST",
  path: "/api/datachain/pipeline/cancel-backfill",
  tag: "Backfills",
  summary: "Cancel a backfill: no more runs start, and active runs are canceled",
  access: write,
  body: OneBackfill,
  response: BackfillOutput,
  errors: ["not_found", "wrong_state"],
});

export const retryBackfill = defineRoute({
  id: "retryBackfill",
  method: "POST",
  path: "/api/datachain/pipeline/retry-backfill",
  tag: "Backfills",
  summary: "Retry a backfill: run failed and canceled moments again, then the remaining ones",
  access: write,
  body: OneBackfill,
  response: BackfillOutput,
  errors: ["not_found", "wrong_state"],
});

const BackfillPreview = Type.Object(
  {
    cron_expression: Type.String({ description: "cron expression whose ticks are the moments" }),
    timezone: Type.String({ description: "an IANA name" }),
    moments: Type.Array(Timestamp, { description: "oldest moment first" }),
  },
  { $id: "BackfillPreview" },
);
export type BackfillPreview = Static<typeof BackfillPreview>;

export const previewBackfill = defineRoute({
  id: "previewBackfill",
  method: "GET",
  path: "/api/datachain/pipeline/preview-backfill",
  tag: "Backfills",
  summary: "Read the moments that a backfill of this range would have; creates nothing",
  access: read,
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    ...range,
    every: Type.Optional(every),
    timezone: Type.Optional(zone),
  }),
  response: BackfillPreview,
});
