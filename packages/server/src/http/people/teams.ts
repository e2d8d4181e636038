/** HTTP routes for teams. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { readUsage } from "../../domain/access/quotas.ts";
import { changeTeam, createTeam, readTeam, readTeams } from "../../domain/people/teams.ts";
import type { PeopleContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function teamRoutes(app: FastifyInstance, context: PeopleContext): void {
  const { store, clock } = context;

  register(app, context, routes.listTeams, ({ principal }) => readTeams(store.db, principal));

  register(app, context, routes.createTeam, ({ principal, actor, body }) =>
    createTeam(store, { principal, actor }, body, clock.now()),
  );

  register(app, context, routes.getTeam, ({ principal, team }) => readTeam(store.db, principal, team.id));

  register(app, context, routes.getTeamUsage, ({ team }) => readUsage(store.db, team.id, context.quotas));

  register(app, context, routes.updateTeam, ({ principal, actor, team, body }) =>
    changeTeam(store, { principal, actor, team }, body, clock.now()),
  );
}
