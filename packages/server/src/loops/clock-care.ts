/** Guards deletions that depend on the wall clock, because the clock may have been set or may be wrong for a while. */
import { type Clock, day, iso } from "../domain/time/clock.ts";
import { ClockWatch } from "../domain/time/clock-watch.ts";
import type { Store } from "../store/drivers/store.ts";
import { readClockMark, writeClockMark } from "../store/queries/schedules/clock-marks.ts";

const hour = 3_600_000;

/**
 * Milliseconds. A clock that is further ahead than this since it was last trusted, or behind, must first be steady for
 * a day.
 */
export const mostAheadMs = 7 * day;

/**
 * Milliseconds that the clock must be steady after a step, for example after the machine slept. It is shorter than the
 * pause between two sweeps, so that the second sweep can proceed.
 */
const settledMs = 55 * 60_000;

/**
 * Returns a function that tells whether the wall clock is trusted for deletions. A clock that continues from its last
 * trusted time is trusted at once, even after a restart. If it was set since the start, it must be steady for almost an
 * hour. A clock that jumped further must be steady for a day, so that nothing is deleted by a clock that is wrong for
 * hours.
 */
export function clockBelief(store: Store, clock: Clock): () => Promise<boolean> {
  const watch = new ClockWatch(clock);
  return async () => {
    const { steps, steadyFor } = watch.look();
    const now = clock.now();
    const mark = await readClockMark(store.db, "deleted");
    const ahead = mark === undefined ? 0 : now - Date.parse(mark);
    const goesOn = ahead > -hour && ahead < mostAheadMs;
    const needed = !goesOn ? day : steps > 0 ? settledMs : 0;
    if (steadyFor < needed) return false;
    await store.write((db) => writeClockMark(db, "deleted", iso(now)));
    return true;
  };
}
