/** Fires schedules: at each tick a pipeline, once, also with several servers; after an outage as each of them asks for. */
import { ApiError } from "@millrace/contract";
import { iso } from "../domain/clock.ts";
import { type Firing, type FiringContext, fireTick, fireWaiting, recordFailure } from "../domain/schedule-firings.ts";
import { type DueSchedule, dueSchedules, readySchedules } from "../store/schedules.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { JobLoopContext, Loop } from "./loop.ts";
import { mendSchedules } from "./mend-times.ts";
import { isPassing } from "./passing.ts";

export interface SchedulesContext
  extends FiringContext,
    Pick<JobLoopContext, "store" | "signals" | "clock" | "log" | "metrics" | "disk"> {}

/** Schedules fired at a time, so that they share a commit: at midnight many are due at once. */
const page = 50;

/** A store may fail for a moment: what is no refusal is tried so often before it counts as failed. */
const mostTries = 5;

export function fireSchedules(context: SchedulesContext): Loop {
  const { store, signals } = context;
  const fire = firing(context);
  const advice = new ClockAdvice(context);
  return {
    name: "fire-schedules",
    signal: signals.schedules,
    interval: 500,
    async runOnce() {
      // Ticks that pass meanwhile count as missed when there is room again.
      if (await context.disk.isLow()) return;
      if (!(await advice.mayAct((now) => mendSchedules(context, now)))) return;
      await Promise.all((await readySchedules(store.db, page)).map((id) => fire(id)));
      if (await fireDue(context, advice, fire)) signals.schedules.wake();
    },
  };
}

/** Fires a tick, or what waited. False: nothing happened. */
type Fire = (id: number, tick?: string) => Promise<boolean>;

/**
 * What is due now, once around: one that stays due, whatever the reason, holds up nobody. Returns whether anything
 * happened: then another tick of the same schedule may be due too.
 */
async function fireDue({ store, clock }: SchedulesContext, advice: ClockAdvice, fire: Fire): Promise<boolean> {
  const now = iso(clock.now());
  let happened = false;
  for (let last: DueSchedule | undefined; ; ) {
    const due: DueSchedule[] = await dueSchedules(store.db, now, last, page);
    const newest = due.at(-1);
    if (newest) await advice.note(newest.next_run);
    const results = await Promise.all(due.map(({ id, next_run }) => fire(id, next_run)));
    happened ||= results.includes(true);
    if (due.length < page) return happened;
    last = newest;
  }
}

/** A refusal is written down at once, any other failure when it comes again and again; until then it stays due. */
function firing(context: SchedulesContext): Fire {
  const { store, clock, log } = context;
  const tries = new Map<number, number>();
  return async (id, tick) => {
    const now = clock.now();
    const failed = (error: unknown) => {
      if (isPassing(error)) throw error;
      const count = (tries.get(id) ?? 0) + 1;
      tries.set(id, count);
      if (!(error instanceof ApiError) && count < mostTries) throw error;
      return store.write((db) => recordFailure(db, id, tick, whyOf(error), now));
    };
    try {
      const fired = await store
        .write((db) => (tick ? fireTick(db, context, id, tick, now) : fireWaiting(db, context, id, now)))
        .catch(failed);
      tries.delete(id);
      if (fired) report(context, id, fired);
      return fired !== undefined;
    } catch (error) {
      if (isPassing(error)) throw error;
      log.error({ err: error, schedule: id, tick }, "the schedule did not fire; it is tried again");
      return false;
    }
  };
}

/** What is a refusal is for people to read; anything else is a fault, and may name what is nobody's business. */
const whyOf = (error: unknown) =>
  error instanceof ApiError ? error.message : "A fault of the server; its log has the details.";

function report({ log, metrics, signals }: SchedulesContext, schedule: number, { outcome, team }: Firing): void {
  metrics.scheduleTicks.add({ team: String(team), outcome });
  if (outcome === "fired") signals.dispatch.wake();
  else log.info({ schedule, team, outcome }, "a tick of the schedule started nothing");
}
