/** HTTP routes for credentials. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  chooseDefault,
  listCredentials,
  ofTeam,
  ownerOfOwn,
  removeCredentials,
  setCredentials,
} from "../../domain/jobs/credentials.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function credentialsRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock } = context;

  register(app, context, routes.listCredentials, ({ principal, team }) =>
    listCredentials(context, team, principal.userId),
  );

  register(app, context, routes.setTeamCredentials, ({ actor, team, body }) =>
    setCredentials(context, ofTeam(team), body, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.setOwnCredentials, async ({ principal, actor, team, body }) =>
    setCredentials(context, await ownerOfOwn(store, principal), body, { team, actor, now: clock.now() }),
  );

  register(app, context, routes.deleteTeamCredentials, async ({ actor, team, body }) => {
    await removeCredentials(context, ofTeam(team), body.name, { team, actor, now: clock.now() });
    return { message: `The credentials ${body.name} of the team ${team.name} are deleted.` };
  });

  register(app, context, routes.deleteOwnCredentials, async ({ principal, actor, team, body }) => {
    await removeCredentials(context, await ownerOfOwn(store, principal), body.name, { team, actor, now: clock.now() });
    return { message: `Your credentials ${body.name} are deleted.` };
  });

  register(app, context, routes.setDefaultCredentials, async ({ actor, team, body }) => {
    await chooseDefault(context, body.name, { team, actor, now: clock.now() });
    const what = body.name === null ? "now get none" : `now get ${body.name}`;
    return { message: `Jobs of the team ${team.name} that name no credentials ${what}.` };
  });
}
