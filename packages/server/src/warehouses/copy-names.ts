/**
 * Names of warehouse copies. A name is the time of the copy, so names sort by age. If a wrong clock gave a copy a time
 * in the future, the copy is renamed.
 */
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * Renames copies that a fast clock dated after `moment`. They get times just before `moment`, so that a copy made at
 * `moment` has the newest name.
 */
export function makeRoomFor(moment: string, folder: string): void {
  const renamed: [from: string, to: string][] = [];
  let first = moment;
  for (const name of readdirSync(folder).sort().reverse()) {
    if (name < first) break;
    first = new Date(Date.parse(first) - 1).toISOString();
    renamed.unshift([name, first]);
  }
  // Oldest first, so that the copies stay in order if the process is killed in between.
  for (const [from, to] of renamed) renameSync(join(folder, from), join(folder, to));
}
