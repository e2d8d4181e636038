/** HTTP routes for memberships. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { addMember, changeRole, readMembers, removeMember } from "../../domain/people/memberships.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function membershipRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock } = context;

  register(app, context, routes.listMembers, ({ team }) => readMembers(store.db, team));

  register(app, context, routes.addMember, ({ actor, principal, team, body }) =>
    addMember(store, { actor, principal, team }, body, clock.now()),
  );

  register(app, context, routes.updateMember, ({ actor, team, params, body }) =>
    changeRole(store, { actor, team }, { username: params.username, role: body.role }, clock.now()),
  );

  register(app, context, routes.removeMember, async ({ actor, principal, team, params, query }) => {
    const { transfer_to: transferTo, force = false } = query;
    const removal = { username: params.username, transferTo, force };
    await removeMember(store, { actor, principal, team }, removal, clock.now());
    return { message: `${params.username} is no longer in the team ${team.name}.` };
  });
}
