/** HTTP routes for e-mail notifications. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  deleteNotification,
  listNotifications,
  setNotification,
  testNotification,
} from "../../domain/events/notifications.ts";
import type { EventContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function notificationRoutes(app: FastifyInstance, context: EventContext): void {
  const { clock, limits } = context;

  register(app, context, routes.listNotifications, ({ team }) => listNotifications(context, team));

  register(app, context, routes.setNotification, ({ actor, team, body }) =>
    setNotification(context, body, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.deleteNotification, async ({ actor, team, body }) => {
    await deleteNotification(context, body.address, { team, actor, now: clock.now() });
    return { message: `No more e-mails of the team ${team.name} are sent to ${body.address}.` };
  });

  register(app, context, routes.testNotification, ({ actor, team, body }) => {
    limits.testMails.take(String(team.id));
    return testNotification(context, body.address, { team, actor, now: clock.now() });
  });
}
