/**
 * Runs backfills: starts their next runs as earlier runs end. All state is in the store, so a backfill continues after
 * a restart of the server.
 */
import { ApiError } from "@millrace/contract";
import { advanceBackfill, type BackfillContext } from "../domain/schedules/backfill-progress.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { isPassing } from "../machine/passing.ts";
import { runningBackfills, updateBackfill } from "../store/queries/schedules/backfills.ts";
import { actingFor } from "../turns/asker.ts";
import type { Loop } from "./loop.ts";
import { turnMs } from "./team-turns.ts";

export interface BackfillsContext
  extends BackfillContext,
    Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "disk"> {}

/** If the next run of a backfill is refused, the backfill tries again after this many milliseconds. */
const patience = 5000;
/**
 * Maximum number of runs that a backfill starts before other backfills get their turn. A backfill whose runs take long
 * to start ends its turn earlier.
 */
const atOnce = 10;

export function runBackfills(context: BackfillsContext): Loop {
  const { store, signals, clock, disk } = context;
  /** When a refused backfill may try again, in milliseconds of the monotonic clock, by backfill id. */
  const restingUntil = new Map<number, number>();
  return {
    name: "run-backfills",
    signal: signals.backfills,
    interval: 500,
    async runOnce() {
      const backfills = await runningBackfills(store.db);
      const ids = new Set(backfills.map(({ id }) => id));
      for (const id of restingUntil.keys()) if (!ids.has(id)) restingUntil.delete(id);
      // Runs that have started continue; new ones wait for free disk space.
      if (backfills.length === 0 || (await disk.isLow())) return;
      let isMore = false;
      for (const { id, team_id } of backfills) {
        if ((restingUntil.get(id) ?? Number.NEGATIVE_INFINITY) > clock.monotonic()) continue;
        restingUntil.delete(id);
        const outcome = await actingFor(team_id, () => advance(context, id));
        if (outcome !== "idle") signals.changes.note(team_id, "backfills", String(id));
        if (outcome === "refused") restingUntil.set(id, clock.monotonic() + patience);
        isMore ||= outcome === "more";
      }
      if (isMore) signals.backfills.wake();
    },
  };
}

/**
 * Starts the next runs of a backfill. If a run is refused, the reason is stored for users. Any other error is logged.
 * In both cases the run is tried again later.
 */
async function advance(context: BackfillsContext, id: number): Promise<"idle" | "advanced" | "more" | "refused"> {
  const { store, signals, clock, log } = context;
  try {
    const end = performance.now() + turnMs;
    for (let begun = 0; begun < atOnce && performance.now() < end; begun++) {
      if (!(await store.write((db) => advanceBackfill(db, context, id, clock.now()))))
        return begun === 0 ? "idle" : "advanced";
      signals.dispatch.wake();
      // A backfill that is being canceled has jobs to end.
      signals.observe.wake();
    }
    return "more";
  } catch (error) {
    if (isPassing(error)) throw error;
    if (error instanceof ApiError) await store.write((db) => updateBackfill(db, id, { last_error: error.message }));
    else log.error({ err: error, backfill: id }, "the backfill could not start its next run; it is tried again");
    return "refused";
  }
}
