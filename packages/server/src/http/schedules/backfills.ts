/** HTTP routes for backfills. */
import { type Backfill, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  cancelTeamBackfill,
  createTeamBackfill,
  listTeamBackfills,
  previewTeamBackfill,
  readTeamBackfill,
  retryTeamBackfill,
} from "../../domain/schedules/backfills.ts";
import type { WorkContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function backfillRoutes(app: FastifyInstance, context: WorkContext): void {
  const { clock, disk } = context;
  const done = (backfill: Backfill) => ({ ok: true, backfill });

  register(app, context, routes.createBackfill, async ({ body, ...call }) => {
    await disk.requireRoom();
    return done(await createTeamBackfill(context, call, body, clock.now()));
  });
  register(app, context, routes.getBackfill, ({ team, query }) => readTeamBackfill(context, team, query.backfill_id));
  register(app, context, routes.listBackfills, async ({ team, query, reply }) => {
    const { backfills, next } = await listTeamBackfills(context, team, query.cursor);
    if (next !== undefined) reply.header("x-next-cursor", String(next));
    return [...backfills];
  });
  register(app, context, routes.cancelBackfill, async ({ body, ...call }) =>
    done(await cancelTeamBackfill(context, call, body.backfill_id, clock.now())),
  );
  register(app, context, routes.retryBackfill, async ({ body, ...call }) =>
    done(await retryTeamBackfill(context, call, body.backfill_id, clock.now())),
  );
  register(app, context, routes.previewBackfill, ({ query }) => previewTeamBackfill(query, clock.now()));
}
