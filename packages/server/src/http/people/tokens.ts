/** HTTP routes for tokens. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { createToken, endToken, readTokens } from "../../domain/people/tokens.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function tokenRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock } = context;

  register(app, context, routes.listTokens, async ({ principal, query, reply }) => {
    const { tokens, next } = await readTokens(store, principal, query, clock.now());
    if (next !== undefined) reply.header("x-next-cursor", String(next));
    return tokens;
  });

  register(app, context, routes.createToken, ({ principal, actor, body }) =>
    createToken(store, { principal, actor }, body, clock.now()),
  );

  register(app, context, routes.revokeToken, async ({ principal, actor, params }) => {
    await endToken(store, { principal, actor }, Number(params.token_id), clock.now());
    return { message: `The token ${params.token_id} is revoked.` };
  });
}
