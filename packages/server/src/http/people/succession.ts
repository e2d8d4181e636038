/** HTTP routes that hand over tasks and pipelines from one user to another. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { existingUser } from "../../domain/access/existing-user.ts";
import { givePipeline, giveTask } from "../../domain/ownership/hand-over.ts";
import { readWork } from "../../domain/ownership/succession.ts";
import { memberInTeam } from "../../domain/people/memberships.ts";
import type { WorkContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function successionRoutes(app: FastifyInstance, context: WorkContext): void {
  const { store, clock } = context;

  register(app, context, routes.getUserWork, async ({ principal, params, query }) => {
    const leaver = await existingUser(store.db, params.username);
    return readWork(store.db, principal, { leaver, teamId: undefined, successor: query.transfer_to }, clock.now());
  });

  register(app, context, routes.getMemberWork, async ({ principal, team, params, query }) => {
    const leaver = await memberInTeam(store.db, team, params.username);
    return readWork(store.db, principal, { leaver, teamId: team.id, successor: query.transfer_to }, clock.now());
  });

  register(app, context, routes.handOverTask, async ({ params, body, ...call }) => {
    const id = params.job_id.toLowerCase();
    await giveTask(context, call, { id, owner: body.owner, force: body.force === true }, clock.now());
    return { message: `Jobs that the task ${id} creates now run as ${body.owner}.` };
  });

  register(app, context, routes.handOverPipeline, async ({ body, ...call }) => {
    const { owner, force, name = null, pipeline_id = null } = body;
    const wish = { owner, force: force === true, name, pipeline_id };
    const pipeline = await givePipeline(context, call, wish, clock.now());
    return { message: `Runs of the pipeline ${pipeline.name} that have not started will run as ${owner}.` };
  });
}
