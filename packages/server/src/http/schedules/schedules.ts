/** HTTP routes for schedules. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { previewTimes } from "../../domain/schedules/schedule-times.ts";
import {
  createTeamSchedule,
  deleteTeamSchedule,
  listTeamSchedules,
  readTeamSchedule,
  updateTeamSchedule,
} from "../../domain/schedules/schedules.ts";
import type { WorkContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function scheduleRoutes(app: FastifyInstance, context: WorkContext): void {
  const { clock, disk } = context;

  register(app, context, routes.createSchedule, async ({ body, ...call }) => {
    await disk.requireRoom();
    return { ok: true, schedule: await createTeamSchedule(context, call, body, clock.now()) };
  });

  register(app, context, routes.updateSchedule, async ({ body, ...call }) => ({
    ok: true,
    schedule: await updateTeamSchedule(context, call, body, clock.now()),
  }));

  register(app, context, routes.deleteSchedule, async ({ body, ...call }) => {
    await deleteTeamSchedule(context, call, body.schedule_id, clock.now());
    return { ok: true };
  });

  register(app, context, routes.getSchedule, ({ team, query }) =>
    readTeamSchedule(context, team, query.schedule_id, clock.now()),
  );

  register(app, context, routes.listSchedules, async ({ team, query, reply }) => {
    const { schedules, next } = await listTeamSchedules(context, team, query.cursor, clock.now());
    if (next !== undefined) reply.header("x-next-cursor", String(next));
    return [...schedules];
  });

  register(app, context, routes.previewSchedule, async ({ query }) => previewTimes(query, clock.now()));
}
