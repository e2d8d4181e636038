/**
 * Ids of jobs: UUIDv7 whose order is the order of creation, also within a millisecond, when the clock steps back, and after
 * one that was far ahead. Then the time in an id is ahead too; `created_at` is right.
 */
import { randomUUID } from "node:crypto";

let lastTime = 0;
let counter = 0;

/** Not an id of any job: smaller than all that were made at this time or later, larger than all before. */
export function jobIdAt(time: number): string {
  const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** When the job was made, in milliseconds. */
export const timeOfJobId = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** From now on ids come after this one, whatever the clock says: it may have been wrong when this one was made. */
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
