/** HTTP routes for service accounts. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  createServiceAccount,
  createServiceToken,
  readServiceTokens,
  revokeServiceToken,
} from "../../domain/people/service-accounts.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function serviceAccountRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock } = context;

  register(app, context, routes.createServiceAccount, ({ body, ...call }) =>
    createServiceAccount(store, call, body, clock.now()),
  );

  register(app, context, routes.listServiceTokens, (call) => readServiceTokens(store, call, clock.now()));

  register(app, context, routes.createServiceToken, ({ body, ...call }) =>
    createServiceToken(store, call, body, clock.now()),
  );

  register(app, context, routes.revokeServiceToken, async ({ params, ...call }) => {
    await revokeServiceToken(store, call, Number(params.service_token_id), clock.now());
    return { message: `The token ${params.service_token_id} is revoked.` };
  });
}
