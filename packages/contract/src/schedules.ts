/** Schedules start copies of a pipeline at set times, or when a dataset gets a new version. */
import type { Static } from "typebox";
import { healthFields, mostFirings, ScheduleFiring } from "./firings.ts";
import { Pipeline } from "./pipelines.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, Name, nextCursor, nullable, oneOf, TeamName, Timestamp, Timezone, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/**
 * What a schedule does if it is due while its previous run is still active. `skip`: no run. `wait`: one run after the
 * previous run has ended. `allow`: a run at the same time.
 */
export const overlapPolicies = ["skip", "wait", "allow"] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/**
 * Which runs a schedule starts for the times that it missed because no server was running. `one`: a single run. `none`:
 * no run. `all`: a run for each missed time.
 */
export const catchUpPolicies = ["one", "none", "all"] as const;
export type CatchUpPolicy = (typeof catchUpPolicies)[number];

/**
 * Which scripts a schedule runs. `none`: always its own scripts. `latest`: the newest scripts, to which the schedule is
 * updated before each run.
 */
export const followPolicies = ["none", "latest"] as const;
export type FollowPolicy = (typeof followPolicies)[number];

/** Maximum number of missed times that get a run if the catch-up policy is `all`. Older missed times get no run. */
export const mostCaughtUp = 100;

const overlap = oneOf(overlapPolicies, {
  description:
    "a tick while the previous run is still active: `skip` drops it; `wait` starts one run after that run has ended, even if several ticks came meanwhile; `allow` starts a run at the same time",
});
const catchUp = oneOf(catchUpPolicies, {
  description: `ticks that were missed because no server ran: \`one\` run for all of them, \`none\`, or \`all\`, at most the newest ${mostCaughtUp}`,
});
const follow = oneOf(followPolicies, {
  description:
    "`none` keeps the scripts of the schedule; `latest` updates them before each run, to the newest script that created each dataset",
});
const NewerScript = Type.Object(
  {
    dataset: Type.String({ description: "namespace.project.dataset" }),
    runs_job_id: { ...Uuid, description: "the job that the schedule repeats" },
    job_id: { ...Uuid, description: "the newest job that created the dataset with a different script" },
    name: nullable(Type.String({ description: "name of that job" })),
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
  timezone: { ...Timezone, description: "IANA time zone of the cron expression" },
  overlap,
  catch_up: catchUp,
  follow,
  newer_scripts: nullable(
    Type.Array(NewerScript, {
      description:
        "datasets for which there is a newer script, at most 20; null if the server did not check, because the schedule names versions or has too many datasets",
    }),
  ),
  is_paused: Type.Boolean({ description: "whether the schedule is paused and does not fire" }),
  next_run: nullable({
    ...Timestamp,
    description:
      "next tick; null if the schedule is paused, has no more ticks, or fires only on new versions of a dataset",
  }),
  waiting_since: nullable({ ...Timestamp, description: "the tick that waits for the previous run to end" }),
  fired: Type.Integer({ description: "number of runs that the schedule has started" }),
  trigger_dataset: nullable(
    Type.String({ description: "dataset whose new versions fire the schedule: namespace.project.name; null if none" }),
  ),
  quiet_seconds: Type.Integer({
    description: "the schedule fires when that dataset has had no new version for this many seconds",
  }),
  trigger_version: nullable(
    Type.String({ description: "the newest version for which the schedule has not fired yet" }),
  ),
  trigger_due_at: nullable({
    ...Timestamp,
    description: "when the schedule fires for that version, unless a newer one arrives",
  }),
  last_error: nullable(Type.String({ description: "why the newest tick could not start a run; null if it could" })),
  ...healthFields,
  last_firing: nullable({ ...ScheduleFiring, description: "what the newest tick did; null if there was none yet" }),
  created_by: Creator,
  owner: Type.Object(
    { ...Creator.properties, service_account: Type.Boolean() },
    {
      description:
        "user whose rights the schedule's pipelines have: the creator, or the user to whom the schedule was handed over",
    },
  ),
  owner_problem: nullable(
    Type.String({
      description:
        "why runs of the schedule cannot start: the owner is disabled, left the team, or may not run jobs in the team; null if they can",
    }),
  ),
};

export const PipelineScheduleItem = Type.Object(shownFields, { $id: "PipelineScheduleItem" });
export type PipelineScheduleItem = Static<typeof PipelineScheduleItem>;

export const PipelineSchedule = Type.Object(
  {
    ...shownFields,
    next_runs: Type.Array(Timestamp, { description: "up to five next ticks" }),
    firings: Type.Array(ScheduleFiring, { description: `up to ${mostFirings} newest firings, newest first` }),
    latest_run: nullable(Pipeline),
    pipeline: { ...Pipeline, description: "the template that every run copies" },
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
  "ISO 8601; a time without an offset is in the schedule's time zone. Without a cron expression the schedule fires once at this time; with one, this is the earliest time";
const triggerDataset = "dataset whose new versions fire the schedule: name, project.name or namespace.project.name";
const quietSeconds = Type.Integer({
  minimum: 0,
  maximum: 604_800,
  description: "the schedule fires when that dataset has had no new version for this many seconds; default 60",
});
const oneIsNeeded = "start_after, cron_expression or trigger_dataset is required";
const cronExpression = "five fields, or @hourly @daily @midnight @weekly @monthly @yearly @annually";

/** Fields that set the owner of a schedule. All runs of the schedule get the owner's rights and credentials. */
const newOwner = {
  owner: maybe({
    ...Name,
    description:
      "new owner, whose rights and credentials all runs get: you or the team's service account; administrators of the server may name any user",
  } as typeof Name),
  force: maybe(Type.Boolean({ description: "hand over even if the new owner lacks credentials that the runs name" })),
};

const CreatePipelineScheduleInput = Type.Object(
  {
    team_name: maybe(TeamName),
    schedule_name: ScheduleName,
    pipeline_name: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "the pipeline to copy; later changes of it do not affect the schedule",
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

/** Access for changes. A job's token is not accepted, because a schedule continues after the job has ended. */
const write = { ...access("PIPELINES", "write", "editor"), people: true } as const;

export const createSchedule = defineRoute({
  id: "createSchedule",
  method: "POST",
  path: "/api/datachain/pipeline/create-schedule",
  tag: "Schedules",
  summary: "Create a schedule that runs copies of a pipeline",
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
    start_after: maybe(Type.String({ maxLength: 64, description: `${startAfter}; an empty text removes it` })),
    cron_expression: maybe(Type.String({ maxLength: 255, description: `${cronExpression}; an empty text removes it` })),
    trigger_dataset: maybe(
      Type.String({ maxLength: 1024, description: `${triggerDataset}; an empty text removes it` }),
    ),
    quiet_seconds: maybe(quietSeconds),
    timezone: maybe({ ...Timezone, description: "an IANA name such as Europe/Berlin; empty means UTC" }),
    overlap: maybe(overlap),
    catch_up: maybe(catchUp),
    follow: maybe(follow),
    refresh: maybe(
      Type.Boolean({ description: "true updates the scripts now, to the newest script that created each dataset" }),
    ),
    pause_pipeline: maybe(
      Type.Boolean({
        description:
          "true pauses the schedule and its active pipelines; false resumes them, and the schedule fires again from the next tick on",
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
  summary: "Change, pause or resume a schedule; null and absent fields change nothing",
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
  summary: "Delete a schedule and its template; pipelines that it has started continue",
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

const SchedulePreview = Type.Object(
  {
    cron_expression: nullable(Type.String()),
    start_after: nullable(Timestamp),
    timezone: Timezone,
    next_runs: Type.Array(Timestamp, { description: "up to five next ticks" }),
  },
  { $id: "SchedulePreview" },
);
export type SchedulePreview = Static<typeof SchedulePreview>;

export const previewSchedule = defineRoute({
  id: "previewSchedule",
  method: "GET",
  path: "/api/datachain/pipeline/preview-schedule",
  tag: "Schedules",
  summary: "Read the next ticks that a schedule with these times would have; creates nothing",
  access: access("PIPELINES", "read", "viewer"),
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    cron_expression: Type.Optional(Type.String({ maxLength: 255, description: cronExpression })),
    start_after: Type.Optional(Type.String({ maxLength: 64, description: startAfter })),
    timezone: Type.Optional({ ...Timezone, description: "an IANA name; default UTC" } as typeof Timezone),
  }),
  response: SchedulePreview,
});
