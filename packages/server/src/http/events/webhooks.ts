/** HTTP routes for webhooks and their deliveries. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listTeamDeliveries, redeliver } from "../../domain/events/receivers.ts";
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  testWebhook,
  updateWebhook,
} from "../../domain/events/webhooks.ts";
import type { EventContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function webhookRoutes(app: FastifyInstance, context: EventContext): void {
  const { clock } = context;

  register(app, context, routes.listWebhooks, ({ team }) => listWebhooks(context, team));

  register(app, context, routes.createWebhook, ({ actor, team, body }) =>
    createWebhook(context, body, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.updateWebhook, ({ actor, team, body }) =>
    updateWebhook(context, body, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.deleteWebhook, async ({ actor, team, body }) => {
    await deleteWebhook(context, body.webhook_id, { team, actor, now: clock.now() });
    return { message: `The webhook ${body.webhook_id} of the team ${team.name} is deleted.` };
  });

  register(app, context, routes.testWebhook, ({ actor, team, body }) =>
    testWebhook(context, body.webhook_id, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.listDeliveries, async ({ team, query, reply }) => {
    const { deliveries, next } = await listTeamDeliveries(context, team, query);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return deliveries;
  });

  register(app, context, routes.redeliver, ({ actor, team, body }) =>
    redeliver(context, body.delivery_id, { team, actor, now: clock.now() }),
  );
}
