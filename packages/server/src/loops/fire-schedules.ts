/**
 * Fires schedules. Each tick starts one pipeline exactly once, even with several servers. If ticks were missed in an
 * outage, the schedule's own setting decides what happens to them.
 */
import { ApiError } from "@millrace/contract";
import {
  type Firing,
  type FiringContext,
  fireTick,
  fireWaiting,
  recordFailure,
} from "../domain/schedules/schedule-firings.ts";
import { pauseOrResumeMany } from "../domain/schedules/schedule-pauses.ts";
import { iso } from "../domain/time/clock.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { isPassing } from "../machine/passing.ts";
import {
  type DueSchedule,
  dueSchedules,
  readySchedules,
  type Switching,
  switchingSchedules,
  teamsWithDueSchedules,
} from "../store/queries/schedules/schedules.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { Loop } from "./loop.ts";
import { mendSchedules } from "./mend-times.ts";
import { TeamTurns } from "./team-turns.ts";
import { page, TeamsInTurn } from "./teams-in-turn.ts";

export interface SchedulesContext
  extends FiringContext,
    Pick<ExecutionContext, "store" | "signals" | "clock" | "log" | "metrics" | "disk"> {}

/**
 * Maximum number of attempts to fire a tick. If the last attempt also fails unexpectedly, for example because of an
 * error of the store, the tick is recorded as failed.
 */
const mostTries = 5;

/**
 * After its start, the server first records which jobs ended while no server ran. Schedules wait for that, but at most
 * this many milliseconds. A tick that is delayed by this much does not count as late yet.
 */
const endPatience = 30_000;

export function fireSchedules(context: SchedulesContext): Loop {
  const { store, signals, clock } = context;
  const started = clock.monotonic();
  const fire = firing(context);
  const advice = new ClockAdvice(context);
  const waiting = new TeamTurns();
  const switches = new TeamTurns();
  const turns = new TeamsInTurn<DueSchedule>({
    teams: (now) => teamsWithDueSchedules(store.db, iso(now)),
    of: (team, now, after, limit) => dueSchedules(store.db, team, iso(now), { after, limit }),
    note: (tick) => advice.note(tick),
    fire: ({ id, next_run }, now) => fire(id, now, next_run),
  });
  return {
    name: "fire-schedules",
    signal: signals.schedules,
    interval: 500,
    async runOnce() {
      // Waits for the ends of jobs: otherwise a run that ended during the outage would still look active, and would
      // block the missed ticks.
      if (!signals.endsSeen && clock.monotonic() - started < endPatience) return;
      // Ticks that pass while the disk is full count as missed.
      if (await context.disk.isLow()) return;
      if (!(await advice.mayAct((now) => mendSchedules(context, now)))) return;
      const now = clock.now();
      switches.beginAll(await switchingSchedules(store.db, page), (schedule) => finishSwitch(context, schedule, now));
      waiting.beginAll(await readySchedules(store.db, page), ({ id }) => fire(id, now));
      const waited = (await switches.results()) || (await waiting.results());
      const fired = await turns.round(now);
      if (waited || fired) signals.schedules.wake();
    },
    async settled() {
      await Promise.all([switches.settled(), waiting.settled(), turns.settled()]);
    },
  };
}

/** Goes on with a pause or a resume of many pipelines that a server began and did not end. */
async function finishSwitch({ store, signals, log }: SchedulesContext, { id, is_paused }: Switching, now: number) {
  try {
    const refusal = await pauseOrResumeMany(store, id, is_paused === 1, now);
    if (refusal) log.warn({ schedule: id, why: refusal.message }, "a pipeline of a resumed schedule stays paused");
    for (const signal of ["dispatch", "observe"] as const) signals[signal].wake();
    return true;
  } catch (error) {
    if (isPassing(error)) throw error;
    log.error(
      { err: error, schedule: id },
      "the pipelines of the schedule were not all paused or resumed; it is tried again",
    );
    return false;
  }
}

/**
 * Fires a tick of a schedule. If `tick` is undefined, fires the tick that waited for the previous run to end. Returns
 * false if nothing happened.
 */
type Fire = (id: number, now: number, tick?: string) => Promise<boolean>;

/**
 * Returns the function that fires one schedule. If the run is refused, the failure is recorded at once. Any other
 * failure is recorded only after `mostTries` attempts; until then the tick stays due.
 */
function firing(context: SchedulesContext): Fire {
  const { store, log } = context;
  const tries = new Map<number, number>();
  return async (id, now, tick) => {
    const failed = (error: unknown) => {
      if (isPassing(error)) throw error;
      const count = (tries.get(id) ?? 0) + 1;
      tries.set(id, count);
      if (!(error instanceof ApiError) && count < mostTries) throw error;
      return store.write((db) => recordFailure({ db, now }, id, tick, whyOf(error)));
    };
    try {
      const fired = await store
        .write((db) => (tick ? fireTick({ db, now }, context, id, tick) : fireWaiting({ db, now }, context, id)))
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

/**
 * Returns the reason of a failure for users. The message of a refusal is shown unchanged. The message of any other
 * error is not shown, because it may contain internal details.
 */
const whyOf = (error: unknown) =>
  error instanceof ApiError ? error.message : "The server could not start the run; its log has the details.";

function report({ log, metrics, signals }: SchedulesContext, schedule: number, { outcome, team }: Firing): void {
  metrics.scheduleTicks.add({ team: String(team), outcome });
  if (outcome === "fired") signals.dispatch.wake();
  else log.info({ schedule, team, outcome }, "a tick of the schedule started nothing");
}
