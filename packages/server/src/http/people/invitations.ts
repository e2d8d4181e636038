/** HTTP routes for invitations. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  acceptInvitation,
  createInvitation,
  endInvitation,
  readInvitations,
  readOffer,
  signUp,
} from "../../domain/people/invitations.ts";
import type { PeopleContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function invitationRoutes(app: FastifyInstance, context: PeopleContext): void {
  const { store, clock, limits, callers, publicUrl } = context;

  register(app, context, routes.listInvitations, ({ team }) => readInvitations(store.db, team, clock.now()));

  register(app, context, routes.createInvitation, ({ principal, actor, team, body }) =>
    createInvitation(store, { principal, actor, team, publicUrl: publicUrl() }, body, clock.now()),
  );

  register(app, context, routes.revokeInvitation, async ({ actor, team, params }) => {
    await endInvitation(store, { actor, team }, Number(params.invitation_id), clock.now());
    return { message: `The invitation ${params.invitation_id} is revoked.` };
  });

  register(app, context, routes.readInvitation, async ({ body, request }) => {
    const read = () => readOffer(store.db, body.code, clock.now());
    return limits.secrets.countRefused(await callers.keyOf(request), read);
  });

  register(app, context, routes.joinTeam, async ({ principal, actor, body, request }) => {
    const accept = () => acceptInvitation(store, { principal, actor }, body.code, clock.now());
    const name = await limits.secrets.countRefused(await callers.keyOf(request), accept);
    return { message: `You joined the team ${name}.` };
  });

  register(app, context, routes.signUp, async ({ body, request }) => {
    const make = () => signUp(store, body, request.ip, clock.now());
    const { teamName } = await limits.secrets.countRefused(await callers.keyOf(request), make);
    return { message: `Created the user ${body.username} in the team ${teamName}. Sign in with the password.` };
  });
}
