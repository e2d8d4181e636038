/**
 * Fires schedules that a new version of a dataset triggers. A schedule fires when no further version has arrived for a
 * configured time. It fires once for all versions that arrived by then, even with several servers.
 */
import { ApiError } from "@millrace/contract";
import { type FiringContext, fireTrigger, recordTriggerFailure } from "../domain/schedules/schedule-firings.ts";
import { doubtfulFrom } from "../domain/schedules/schedule-times.ts";
import { iso } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { isPassing } from "../machine/passing.ts";
import { type DueNotice, dueNotices, mendNotices } from "../store/queries/schedules/schedule-notices.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { Loop } from "./loop.ts";
import { TeamTurns } from "./team-turns.ts";
import { page } from "./teams-in-turn.ts";

export interface TriggersContext
  extends FiringContext,
    Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "metrics" | "disk"> {}

export function fireTriggers(context: TriggersContext): Loop {
  const { store, signals, clock, log } = context;
  const advice = new ClockAdvice(context);
  const turns = new TeamTurns();
  const mend = async (now: number) => {
    const mended = await store.write((db) => mendNotices(db, iso(doubtfulFrom(now)), iso(now)));
    if (mended > 0)
      log.warn({ mended }, "corrected schedules that wait for a dataset: a wrong clock had set the end of their wait");
  };
  return {
    name: "fire-triggers",
    signal: signals.triggers,
    interval: 500,
    async runOnce() {
      // Notices of new versions stay in the store until there is free space again.
      if (await context.disk.isLow()) return;
      if (!(await advice.mayAct(mend))) return;
      const now = clock.now();
      turns.beginAll(await dueNotices(store.db, iso(now), page), (notice) => fire(context, notice, now));
      if (await turns.results()) signals.triggers.wake();
    },
    settled: () => turns.settled(),
  };
}

/**
 * Fires the schedule of a notice, which is a stored row about a new dataset version. If the run cannot start, the
 * reason is stored and the notice is tried again later, because the same version creates no second notice.
 */
async function fire(context: TriggersContext, notice: DueNotice, now: number): Promise<boolean> {
  const { store, log, metrics, signals } = context;
  const failed = (error: unknown) => {
    if (isPassing(error)) throw error;
    if (!(error instanceof ApiError))
      log.error(
        { err: error, schedule: notice.schedule_id },
        "the schedule did not fire for a new dataset version; it is tried again",
      );
    const why =
      error instanceof ApiError ? error.message : "The server could not start the run; its log has the details.";
    return store.write((db) => recordTriggerFailure({ db, now }, notice, why));
  };
  const fired = await store.write((db) => fireTrigger({ db, now }, context, notice)).catch(failed);
  if (!fired) return false;
  metrics.scheduleTicks.add({ team: String(fired.team), outcome: fired.outcome });
  if (fired.outcome === "fired") signals.dispatch.wake();
  return true;
}
