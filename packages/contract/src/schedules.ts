/** Schedules: pipelines that are run again at their times. */
import type { Static } from "typebox";
import { healthFields, mostFirings, ScheduleFiring } from "./firings.ts";
import { Pipeline } from "./pipelines.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, Name, nextCursor, nullable, oneOf, TeamName, Timestamp, Timezone, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/** What happens to a tick that comes while the last run is still going. */
export const overlapPolicies = ["skip", "wait", "allow"] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/** What happens to ticks that were missed because no server ran. */
export const catchUpPolicies = ["one", "none", "all"] as const;
export type CatchUpPolicy = (typeof catchUpPolicies)[number];

/** Whether a firing runs the scripts that the schedule was made with, or first takes the newest. */
export const followPolicies = ["none", "latest"] as const;
export type FollowPolicy = (typeof followPolicies)[number];

/** Missed ticks that `all` makes up for, the newest ones. */
export const mostCaughtUp = 100;

const overlap = oneOf(overlapPolicies, {
  description:
    "a tick while the last run is still going: `skip` drops it; `wait` runs once when that run has ended, however many ticks came; `allow` runs beside it",
});
const catchUp = oneOf(catchUpPolicies, {
  description: `ticks that were missed because no server ran: \`one\` run for all of them, \`none\`, or \`all\`, at most the newest ${mostCaughtUp}`,
});
const follow = oneOf(followPolicies, {
  description:
    "`none`: every run repeats the scripts that it has; `latest`: each firing first takes the newest script that made each of its datasets",
});
const NewerScript = Type.Object(
  {
    dataset: Type.String({ description: "namespace.project.dataset" }),
    runs_job_id: { ...Uuid, description: "the job that the schedule repeats" },
    job_id: { ...Uuid, description: "the newest job with another script that made the dataset" },
    name: nullable(Type.String({ description: "of that job" })),
    created_at: Timestamp,
    created_by: Type.String({ description: "user name" }),
  },
  { $id: "NewerScript" },
);
export type NewerScript = Static<typeof NewerScript>;

const Creator = Type.Object({
  username: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
});

const shownFields = {
  id: Type.Integer(),
  schedule_name: Type.String({ description: "unique in the team" }),
  created_at: Timestamp,
  updated_at: Timestamp,
  start_after: nullable(Timestamp),
  cron_expression: nullable(Type.String()),
  timezone: { ...Timezone, description: "the IANA time zone of its cron expression" },
  overlap,
  catch_up: catchUp,
  follow,
  newer_scripts: nullable(
    Type.Array(NewerScript, {
      description:
        "datasets that were made by newer scripts than those that it runs, at most 20; null: not looked for, since its versions were named, or the list is too long",
    }),
  ),
  is_paused: Type.Boolean({ description: "true: it does not fire" }),
  next_run: nullable({ ...Timestamp, description: "null: it is paused, over, or fired by a dataset only" }),
  waiting_since: nullable({ ...Timestamp, description: "the tick that waits for the end of the last run" }),
  fired: Type.Integer({ description: "how many runs it has started" }),
  trigger_dataset: nullable(
    Type.String({ description: "its new versions fire it, too: namespace.project.name; null: times only" }),
  ),
  quiet_seconds: Type.Integer({ description: "how long that dataset must have had no further version" }),
  trigger_version: nullable(Type.String({ description: "the newest version that it has not fired for yet" })),
  trigger_due_at: nullable({ ...Timestamp, description: "when it fires for that version, unless another comes" }),
  last_error: nullable(Type.String({ description: "why the newest tick could not run; null once one could again" })),
  ...healthFields,
  created_by: Creator,
  owner: Type.Object(
    { ...Creator.properties, service_account: Type.Boolean() },
    { description: "whose name its pipelines carry: who made it, or whoever it was handed over to" },
  ),
  owner_problem: nullable(
    Type.String({
      description:
        "why no run of it can begin: whoever it runs as is disabled, left the team or may not run jobs there; null: nothing is in the way",
    }),
  ),
};

export const PipelineScheduleItem = Type.Object(shownFields, { $id: "PipelineScheduleItem" });
export type PipelineScheduleItem = Static<typeof PipelineScheduleItem>;

export const PipelineSchedule = Type.Object(
  {
    ...shownFields,
    next_runs: Type.Array(Timestamp, { description: "the next five at most" }),
    firings: Type.Array(ScheduleFiring, { description: `newest first, the last ${mostFirings} at most` }),
    latest_run: nullable(Pipeline),
    pipeline: { ...Pipeline, description: "the template: what every run is a copy of" },
  },
  { $id: "PipelineScheduleOutput" },
);
export type PipelineSchedule = Static<typeof PipelineSchedule>;

const PipelineScheduleUpdateOutput = Type.Object(
  { ok: Type.Boolean(), schedule: PipelineSchedule },
  { $id: "PipelineScheduleUpdateOutput" },
);
export type PipelineScheduleUpdateOutput = Static<typeof PipelineScheduleUpdateOutput>;

const ScheduleName = Type.String({ minLength: 1, maxLength: 255, description: "unique in the team" });
const ScheduleId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const startAfter =
  "ISO 8601, without an offset in the schedule's time zone; alone it runs once, with cron not before it";
const triggerDataset =
  "fires when this dataset has a new version, whoever made it: name, project.name or namespace.project.name";
const quietSeconds = Type.Integer({
  minimum: 0,
  maximum: 604_800,
  description: "fires once that dataset has had no further version for so long; 60 by default",
});
const oneIsNeeded = "a time or a trigger_dataset is needed";
const cronExpression = "five fields, or @hourly @daily @midnight @weekly @monthly @yearly @annually";

/** Who owns it, and as whom all its runs run: with that user's rights and credentials. */
const newOwner = {
  owner: maybe({
    ...Name,
    description:
      "a new owner, as whom all runs run: you, the team's service account, or anybody where an administrator says so",
  } as typeof Name),
  force: maybe(Type.Boolean({ description: "also where the new owner lacks credentials that the runs name" })),
};

const CreatePipelineScheduleInput = Type.Object(
  {
    team_name: maybe(TeamName),
    schedule_name: ScheduleName,
    pipeline_name: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "the pipeline to copy; it stays as it is, and what happens to it later does not matter",
    }),
    start_after: maybe(Type.String({ maxLength: 64, description: `${startAfter}; ${oneIsNeeded}` })),
    cron_expression: maybe(Type.String({ maxLength: 255, description: `${cronExpression}; ${oneIsNeeded}` })),
    trigger_dataset: maybe(Type.String({ maxLength: 1024, description: `${triggerDataset}; ${oneIsNeeded}` })),
    quiet_seconds: maybe(quietSeconds),
    timezone: maybe({ ...Timezone, description: "an IANA name such as Europe/Berlin; default UTC" }),
    overlap: maybe(overlap),
    catch_up: maybe(catchUp),
    follow: maybe(follow),
    ...newOwner,
  },
  { $id: "CreatePipelineScheduleInput" },
);
export type CreatePipelineScheduleInput = Static<typeof CreatePipelineScheduleInput>;

/** A schedule outlives whoever makes or changes it: that is not a job's to do. */
const write = { ...access("PIPELINES", "write", "editor"), people: true } as const;

export const createSchedule = defineRoute({
  id: "createSchedule",
  method: "POST",
  path: "/api/datachain/pipeline/create-schedule",
  tag: "Schedules",
  summary: "Run a copy of a pipeline at its times",
  access: write,
  body: CreatePipelineScheduleInput,
  response: PipelineScheduleUpdateOutput,
  errors: ["not_found", "wrong_state", "insufficient_storage"],
});

const UpdatePipelineScheduleInput = Type.Object(
  {
    team_name: maybe(TeamName),
    schedule_id: ScheduleId,
    schedule_name: maybe({ ...ScheduleName, description: "a new name" }),
    start_after: maybe(Type.String({ maxLength: 64, description: `${startAfter}; empty: none` })),
    cron_expression: maybe(Type.String({ maxLength: 255, description: `${cronExpression}; empty: none` })),
    trigger_dataset: maybe(Type.String({ maxLength: 1024, description: `${triggerDataset}; empty: none` })),
    quiet_seconds: maybe(quietSeconds),
    timezone: maybe({ ...Timezone, description: "an IANA name such as Europe/Berlin; empty: UTC" }),
    overlap: maybe(overlap),
    catch_up: maybe(catchUp),
    follow: maybe(follow),
    refresh: maybe(Type.Boolean({ description: "true: takes the newest script that made each of its datasets, now" })),
    pause_pipeline: maybe(
      Type.Boolean({
        description:
          "true: it fires no more, and its running pipelines are paused; false: it fires again, from its next tick on, and they go on",
      }),
    ),
    ...newOwner,
  },
  { $id: "UpdatePipelineScheduleInput" },
);
export type UpdatePipelineScheduleInput = Static<typeof UpdatePipelineScheduleInput>;

export const updateSchedule = defineRoute({
  id: "updateSchedule",
  method: "POST",
  path: "/api/datachain/pipeline/update-schedule",
  tag: "Schedules",
  summary: "Change a schedule, pause it or let it go on; null and absent change nothing",
  access: write,
  body: UpdatePipelineScheduleInput,
  response: PipelineScheduleUpdateOutput,
  errors: ["not_found", "wrong_state"],
});

export const deleteSchedule = defineRoute({
  id: "deleteSchedule",
  method: "POST",
  path: "/api/datachain/pipeline/delete-schedule",
  tag: "Schedules",
  summary: "Delete a schedule and its template; pipelines that it has started go on",
  access: write,
  body: Type.Object({ team_name: maybe(TeamName), schedule_id: ScheduleId }, { $id: "DeletePipelineScheduleInput" }),
  response: Type.Object({ ok: Type.Boolean() }, { $id: "DeletePipelineScheduleOutput" }),
  errors: ["not_found"],
});

export const getSchedule = defineRoute({
  id: "getSchedule",
  method: "GET",
  path: "/api/datachain/pipeline/schedule",
  tag: "Schedules",
  summary: "Read one schedule with its template and its newest run",
  access: access("PIPELINES", "read", "viewer"),
  query: Type.Object({ team_name: Type.Optional(TeamName), schedule_id: ScheduleId }),
  response: PipelineSchedule,
  errors: ["not_found"],
});

export const listSchedules = defineRoute({
  id: "listSchedules",
  method: "GET",
  path: "/api/datachain/pipeline/schedules",
  tag: "Schedules",
  summary: "List the schedules of a team by name",
  access: access("PIPELINES", "read", "viewer"),
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    cursor: Type.Optional({ ...ScheduleId, description: "from x-next-cursor" } as typeof ScheduleId),
  }),
  response: Type.Array(PipelineScheduleItem),
  responseHeaders: nextCursor,
});
