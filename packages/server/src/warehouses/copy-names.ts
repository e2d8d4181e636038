/** Copies are named by the moment at which they were made, and sort in the order of making: also where a clock was wrong. */
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/** Copies that a clock which was ahead has named later than one that is made now get names of just before it. */
export function makeRoomFor(moment: string, folder: string): void {
  const renamed: [from: string, to: string][] = [];
  let first = moment;
  for (const name of readdirSync(folder).sort().reverse()) {
    if (name < first) break;
    first = new Date(Date.parse(first) - 1).toISOString();
    renamed.unshift([name, first]);
  }
  // The oldest first: killed in between, they are still in order.
  for (const [from, to] of renamed) renameSync(join(folder, from), join(folder, to));
}
