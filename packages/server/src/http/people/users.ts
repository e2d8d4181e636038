/** HTTP routes for users. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { changeUser, createUser, readUser, readUsers } from "../../domain/people/users.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function userRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock } = context;

  register(app, context, routes.listUsers, ({ query }) => readUsers(store.db, query.cursor, query.limit));

  register(app, context, routes.createUser, ({ actor, body }) => createUser(store, actor, body, clock.now()));

  register(app, context, routes.getUser, ({ params }) => readUser(store.db, params.username));

  register(app, context, routes.updateUser, ({ actor, principal, params, body }) =>
    changeUser(store, { actor, principal }, { ...body, username: params.username }, clock.now()),
  );
}
