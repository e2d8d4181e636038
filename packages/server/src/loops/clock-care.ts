/** What deletes by the wall clock asks here first: it may have been set, or wrong for a while. */
import { type Clock, day, iso } from "../domain/time/clock.ts";
import { ClockWatch } from "../domain/time/clock-watch.ts";
import type { Store } from "../store/drivers/store.ts";
import { readClockMark, writeClockMark } from "../store/queries/schedules/clock-marks.ts";

const hour = 3_600_000;

/** A clock that is ahead by more than this since it was last believed, or behind, is not believed at once. */
export const mostAheadMs = 7 * day;

/** A machine that was asleep: shorter than the pause between two sweeps, so that the second look is enough. */
const settledMs = 55 * 60_000;

/**
 * Whether the clock can be believed. It is where it goes on from when it was last believed: at once, also over a restart,
 * or, after it was set, as when a machine wakes up, when it has been steady for an hour. Otherwise it must have been steady
 * for a day: nothing is deleted by a clock that is wrong for hours.
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
