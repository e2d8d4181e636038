/** Tasks create jobs at a set time, or repeatedly by a cron expression. */
import type { Static } from "typebox";
import { JobParams } from "./jobs.ts";
import { fieldLimits } from "./limits.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, nextCursor, nullable, TeamName, Timestamp, Timezone, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

const shownFields = {
  id: { ...Uuid, description: "id of the task, which is a job with the status TASK" },
  name: nullable(Type.String()),
  created_by: Type.String({ description: "user name" }),
  owner: Type.String({ description: "name of the user whose rights the task's jobs get" }),
  created_at: Timestamp,
  cron_expression: nullable(Type.String({ description: "null if the task fires once" })),
  start_after: nullable(Timestamp),
  timezone: { ...Timezone, description: "IANA time zone of the cron expression" },
  is_paused: Type.Boolean({ description: "whether the task is paused and does not fire" }),
  next_run: nullable({ ...Timestamp, description: "next tick; null while the task is paused" }),
  fired: Type.Integer({ description: "number of jobs that the task has created" }),
  skipped: Type.Integer({ description: "number of ticks that created no job" }),
  last_error: nullable(Type.String({ description: "why the newest tick created no job; null if it created one" })),
};

export const TaskItem = Type.Object(shownFields, { $id: "TaskItem" });
export type TaskItem = Static<typeof TaskItem>;

export const Task = Type.Object(
  { ...shownFields, next_runs: Type.Array(Timestamp, { description: "up to five next ticks" }) },
  { $id: "Task" },
);
export type Task = Static<typeof Task>;

export const listTasks = defineRoute({
  id: "listTasks",
  method: "GET",
  path: "/api/datachain/tasks",
  tag: "Tasks",
  summary: "List the tasks of a team, newest first",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 100 })),
    cursor: Type.Optional(Uuid),
  }),
  response: Type.Array(TaskItem),
  responseHeaders: nextCursor,
});

export const getTask = defineRoute({
  id: "getTask",
  method: "GET",
  path: "/api/datachain/tasks/{job_id}",
  tag: "Tasks",
  summary: "Read one task",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Task,
  errors: ["not_found"],
});

const UpdateTaskInput = Type.Object(
  {
    team_name: maybe(TeamName),
    name: maybe(Type.String({ maxLength: fieldLimits.name, description: "new name; an empty text removes the name" })),
    cron_expression: maybe(
      Type.String({
        maxLength: 255,
        description:
          "five fields, or @hourly @daily @midnight @weekly @monthly @yearly @annually; an empty text removes it",
      }),
    ),
    start_after: maybe(
      Type.String({
        maxLength: 64,
        description: "ISO 8601; a time without an offset is in the task's time zone; an empty text removes it",
      }),
    ),
    timezone: maybe({ ...Timezone, description: "an IANA name such as Europe/Berlin; empty means UTC" }),
    is_paused: maybe(Type.Boolean({ description: "true pauses the task; false resumes it, from the next tick on" })),
  },
  { $id: "UpdateTaskInput" },
);
export type UpdateTaskInput = Static<typeof UpdateTaskInput>;

export const updateTask = defineRoute({
  id: "updateTask",
  method: "PATCH",
  path: "/api/datachain/tasks/{job_id}",
  tag: "Tasks",
  summary:
    "Change, pause or resume a task; null and absent fields change nothing. To remove a task, cancel the job with its id",
  // A task continues after its caller has ended, so the token of a job may not change one.
  access: { ...access("JOB", "write", "editor"), people: true },
  params: JobParams,
  body: UpdateTaskInput,
  response: Task,
  errors: ["not_found", "wrong_state"],
});
