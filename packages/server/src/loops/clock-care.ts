/** What loops that act by the wall clock do about one that was set, or was wrong for a while. */
import { type Clock, day, iso } from "../domain/clock.ts";
import { ClockWatch } from "../domain/clock-watch.ts";
import { readClockMark, writeClockMark } from "../store/clock-marks.ts";
import type { Store } from "../store/store.ts";

const hour = 3_600_000;

/**
 * For what fires: "wait" while the clock has just been set; "mend" when times that were written by a clock that was wrong
 * may be there, which is at the start, after every step, and every hour, since another server may have written them.
 */
export function clockAdvice(clock: Clock): () => "wait" | "mend" | "go" {
  const watch = new ClockWatch(clock);
  let mended = { steps: -1, at: Number.NEGATIVE_INFINITY };
  return () => {
    const { steps, isSettled } = watch.look();
    if (!isSettled) return "wait";
    const at = clock.monotonic();
    if (steps === mended.steps && at - mended.at < hour) return "go";
    mended = { steps, at };
    return "mend";
  };
}

/** A clock that is ahead by more than this since it was last believed, or behind, is not believed at once. */
const mostAheadMs = 7 * day;

/**
 * For what deletes: whether the clock can be believed. It is where it goes on from when it was last believed, also over a
 * restart, and otherwise when it has been steady for a day: nothing is deleted by a clock that is wrong for hours.
 */
export function clockBelief(store: Store, clock: Clock): () => Promise<boolean> {
  const watch = new ClockWatch(clock);
  return async () => {
    const { steps, steadyFor } = watch.look();
    const now = clock.now();
    const mark = await readClockMark(store.db);
    const ahead = mark === undefined ? 0 : now - Date.parse(mark);
    const goesOn = steps === 0 && ahead > -hour && ahead < mostAheadMs;
    if (!goesOn && steadyFor < day) return false;
    await store.write((db) => writeClockMark(db, iso(now)));
    return true;
  };
}
