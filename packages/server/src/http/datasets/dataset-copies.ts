/** HTTP routes for copies of a team's warehouse. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type DatasetCopy, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  chooseCopy,
  pauseTeam,
  recordRestored,
  requireIdle,
  resumeTeam,
  settling,
} from "../../domain/datasets/dataset-copies.ts";
import { iso } from "../../domain/time/clock.ts";
import { isUnavailable } from "../../store/drivers/unavailable.ts";
import { WarehouseUnusable } from "../../warehouses/warehouses.ts";
import type { DatasetContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function datasetCopyRoutes(app: FastifyInstance, context: DatasetContext): void {
  const { store, clock, warehouses, measures, signals } = context;

  const copiesOf = async (teamId: number): Promise<DatasetCopy[]> => {
    const daily = (await warehouses.copies(teamId)).map((created_at) => ({ created_at, kind: "daily" as const }));
    const replaced = (await warehouses.replaced(teamId)).map((created_at) => ({
      created_at,
      kind: "replaced" as const,
    }));
    return [...daily, ...replaced].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  };

  register(app, context, routes.listDatasetCopies, ({ team }) => copiesOf(team.id));

  register(app, context, routes.restoreDatasetCopy, async ({ actor, team, body }) => {
    const copy = chooseCopy(team, await copiesOf(team.id), body.created_at);
    const moment = copy.created_at;
    await pauseTeam(store, team, clock.now());
    try {
      // After this wait, all job starts that were decided before the pause are in the store.
      await sleep(settling);
      await requireIdle(store.db, team);
      const replacedAt = iso(clock.now());
      const uuids = await warehouses.restore(team.id, { moment, kind: copy.kind }, replacedAt);
      await measures.measure(team.id);
      const gone = await recordRestored(store, { actor, team }, { moment, uuids }, clock.now());
      const lost = gone === 0 ? "" : ` Versions created after the copy are lost: ${gone}.`;
      const isKept = (await warehouses.replaced(team.id)).includes(replacedAt);
      const kept = isKept ? ` The replaced warehouse is kept for a while, as the copy of ${replacedAt}.` : "";
      return {
        message: `The warehouse of the team ${team.name} was restored from the copy of ${moment}.${lost}${kept}`,
      };
    } catch (error) {
      if (error instanceof WarehouseUnusable) throw new ApiError("wrong_state", error.message);
      throw error;
    } finally {
      await persistently(() => resumeTeam(store, team), context.stopping);
      signals.dispatch.wake();
    }
  });
}

/**
 * Calls `work`, which lets the team's jobs start again. While the database is unreachable, tries again every second.
 * Gives up when the server stops, because the next start of the server does the same work.
 */
async function persistently(work: () => Promise<unknown>, stopping: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return void (await work());
    } catch (error) {
      if (!isUnavailable(error) || stopping.aborted) throw error;
      await sleep(1000, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
