/** HTTP routes for tasks and for upcoming runs. */
import { permits, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listTeamTasks, readTeamTask, updateTeamTask } from "../../domain/schedules/tasks.ts";
import { upcomingOf } from "../../domain/schedules/upcoming.ts";
import type { WorkContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function taskRoutes(app: FastifyInstance, context: WorkContext): void {
  const { clock, store } = context;

  register(app, context, routes.listTasks, async ({ team, query, reply }) => {
    const { tasks, next } = await listTeamTasks(context, team, query);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return tasks;
  });

  register(app, context, routes.getTask, ({ team, params }) =>
    readTeamTask(context, team, params.job_id.toLowerCase()),
  );

  register(app, context, routes.updateTask, ({ params, body, ...call }) =>
    updateTeamTask(context, call, { ...body, job_id: params.job_id.toLowerCase() }, clock.now()),
  );

  register(app, context, routes.listUpcoming, async ({ principal, team, query, reply }) => {
    const withSchedules = permits(principal.scopes, "PIPELINES:read");
    const { items, next } = await upcomingOf(store.db, team, {
      limit: query.limit ?? 20,
      cursor: query.cursor,
      withSchedules,
    });
    if (next !== undefined) reply.header("x-next-cursor", next);
    return items;
  });
}
