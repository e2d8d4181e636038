/** Backfills: runs of a pipeline for past moments. */
import type { Static } from "typebox";
import { pipelineStatuses } from "./pipelines.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, nextCursor, nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/** FAILED: some of its runs did; with `on_failure` stop, moments may be left that never had one. */
const backfillStatuses = ["RUNNING", "COMPLETED", "FAILED", "CANCELED"] as const;
export type BackfillStatus = (typeof backfillStatuses)[number];

/** What becomes of the moments that are left when one has failed. */
export const backfillFailurePolicies = ["stop", "continue"] as const;
export type BackfillFailurePolicy = (typeof backfillFailurePolicies)[number];

export const backfillLimits = {
  /** Of one backfill. */
  moments: 1000,
  /** Runs side by side. */
  parallel: 100,
  /** Backfills of a team at once. */
  running: 20,
} as const;

const parallel = Type.Integer({
  minimum: 1,
  maximum: backfillLimits.parallel,
  description: "runs side by side; 1: in order, each after the end of the one before",
});
const onFailure = oneOf(backfillFailurePolicies, {
  description: "when a run has failed: `stop` begins no more, `continue` goes on with the other moments",
});

const shownFields = {
  id: Type.Integer(),
  pipeline_name: Type.String({ description: "the pipeline that was copied" }),
  status: oneOf(backfillStatuses, { description: "FAILED: some run failed, and nothing begins any more" }),
  cron_expression: Type.String({ description: "which moments: its ticks" }),
  timezone: Type.String({ description: "an IANA name" }),
  from: { ...Timestamp, description: "the first moment" },
  to: { ...Timestamp, description: "the last one" },
  parallel,
  on_failure: onFailure,
  total: Type.Integer({ description: "moments" }),
  waiting: Type.Integer({ description: "moments without a run so far" }),
  running: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer({ description: "moments whose newest run failed or was canceled" }),
  last_error: nullable(
    Type.String({ description: "why the next moment could not begin when it was last tried; null once one could" }),
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
    status: oneOf(["WAITING", ...pipelineStatuses], { description: "of its newest run; WAITING: it has none yet" }),
    pipeline_id: nullable(Uuid),
    pipeline_name: nullable(Type.String({ description: "its newest run" })),
    error_message: nullable(Type.String({ description: "why that run failed" })),
  },
  { $id: "BackfillMoment" },
);
export type BackfillMoment = Static<typeof BackfillMoment>;

export const Backfill = Type.Object(
  {
    ...shownFields,
    template_name: Type.String({ description: "what every run is a copy of; takes `pipeline/settings`" }),
    moments: Type.Array(BackfillMoment, { description: "in their order" }),
  },
  { $id: "Backfill" },
);
export type Backfill = Static<typeof Backfill>;

const BackfillOutput = Type.Object({ ok: Type.Boolean(), backfill: Backfill }, { $id: "BackfillOutput" });

const BackfillId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const time = "ISO 8601, without an offset in the time zone given";

const CreateBackfillInput = Type.Object(
  {
    team_name: maybe(TeamName),
    pipeline_name: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "the pipeline to copy, also the template of a schedule; it stays as it is",
    }),
    from: Type.String({ maxLength: 64, description: `the first moment is not before it: ${time}` }),
    to: Type.String({ maxLength: 64, description: `the last moment is not after it, and it has passed: ${time}` }),
    every: maybe(
      Type.String({
        maxLength: 255,
        description: "hour, day (default), week, month, or a cron expression, as of a schedule",
      }),
    ),
    timezone: maybe(Type.String({ maxLength: 64, description: "an IANA name such as Europe/Berlin; default UTC" })),
    parallel: maybe(parallel),
    on_failure: maybe(onFailure),
  },
  { $id: "CreateBackfillInput" },
);
export type CreateBackfillInput = Static<typeof CreateBackfillInput>;

/** A backfill outlives whoever makes it: that is not a job's to do. */
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
  summary: "Read one backfill with its moments and how each fares",
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
  summary: "Begin no more runs of a backfill, and cancel those that are under way",
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
  summary: "Run the moments again that failed or were canceled, and go on with those that had no run",
  access: write,
  body: OneBackfill,
  response: BackfillOutput,
  errors: ["not_found", "wrong_state"],
});
