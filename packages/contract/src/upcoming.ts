/** Upcoming runs of schedules and tasks in one list. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { nextCursor, nullable, oneOf, TeamName, Timestamp, Timezone } from "./schema.ts";
import { Type } from "./type.ts";

export const Upcoming = Type.Object(
  {
    at: { ...Timestamp, description: "next tick; a time in the past means that the schedule or task is overdue" },
    following: nullable({ ...Timestamp, description: "the tick after `at`; null if there is none" }),
    kind: oneOf(["schedule", "task"]),
    id: Type.String({ description: "id of the schedule or the task" }),
    name: nullable(Type.String()),
    cron_expression: nullable(Type.String({ description: "null if the schedule or task fires once" })),
    timezone: { ...Timezone, description: "IANA time zone of the cron expression" },
  },
  { $id: "Upcoming" },
);
export type Upcoming = Static<typeof Upcoming>;

export const listUpcoming = defineRoute({
  id: "listUpcoming",
  method: "GET",
  path: "/api/datachain/upcoming",
  tag: "Tasks",
  summary: "List the next tick of each task and, with the scope PIPELINES, of each schedule, by time",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 20 })),
    cursor: Type.Optional(Type.String({ maxLength: 100, description: "from x-next-cursor" })),
  }),
  response: Type.Array(Upcoming),
  responseHeaders: nextCursor,
});
