/**
 * Decides whether the wall clock can be trusted for deleting old data. The clock may have been set, or may be wrong for
 * a while.
 */
import { type Clock, day, iso } from "../domain/time/clock.ts";
import { ClockWatch } from "../domain/time/clock-watch.ts";
import type { Store } from "../store/drivers/store.ts";
import { readClockMark, writeClockMark } from "../store/queries/schedules/clock-marks.ts";

const hour = 3_600_000;

/**
 * If the wall clock is this many milliseconds or more ahead of its last trusted time, it must be steady for a day
 * before it is trusted again. The same applies if it is an hour or more behind that time.
 */
export const mostAheadMs = 7 * day;

/**
 * After the clock was set, or the machine slept, the clock must be steady for this many milliseconds. That is shorter
 * than the pause between two sweeps, so that the second sweep after the change can delete.
 */
const settledMs = 55 * 60_000;

/**
 * Returns a function that tells whether the wall clock is trusted for deletions. A clock near its last trusted time is
 * trusted at once. If it was set since the server's start, it must first be steady for `settledMs`. A clock far from
 * its last trusted time (see `mostAheadMs`) must be steady for a day, so that a clock that is wrong for hours deletes
 * nothing.
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
