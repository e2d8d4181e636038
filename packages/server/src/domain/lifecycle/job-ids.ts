/**
 * Ids of jobs. They are UUIDv7 that sort in the order of creation, even within a millisecond and after the clock was
 * set back. If a clock that was ahead is set right, new ids continue from the later time, to keep that order.
 * `created_at` then has the right time, but the id does not.
 */
import { randomUUID } from "node:crypto";

let lastTime = 0;
let counter = 0;

/**
 * Returns a bound for filtering ids by creation time. It sorts after all ids that were created before `time`, and
 * before all others. `time` is in milliseconds since the epoch.
 */
export function jobIdAt(time: number): string {
  const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Returns the creation time in a job id, in milliseconds since the epoch. */
export const timeOfJobId = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** Makes new ids sort after `id`, even if the clock was ahead when `id` was created. */
export function continueAfter(id: string): void {
  const time = timeOfJobId(id);
  if (time < lastTime) return;
  lastTime = time;
  counter = Number.parseInt(id.slice(15, 18), 16);
}

export function newJobId(now: number): string {
  if (now > lastTime) {
    lastTime = now;
    counter = Math.floor(Math.random() * 256);
  } else if (++counter > 0xfff) {
    lastTime++;
    counter = 0;
  }
  const time = lastTime.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${randomUUID().slice(19)}`;
}
