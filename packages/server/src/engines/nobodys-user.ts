/** Users that no account and no job has: what belongs to one, nobody can change who does not become it. */
import { randomInt } from "node:crypto";
import { chownSync } from "node:fs";

/** By chance from far above the accounts of any machine; where such numbers do not exist, from below the last that do. */
export function giveToNobody(path: string, taken: ReadonlySet<number> = new Set()): void {
  const choose = (first: number, last: number) => {
    let id = randomInt(first, last);
    while (taken.has(id)) id = randomInt(first, last);
    chownSync(path, id, id);
  };
  try {
    choose(2 ** 21, 2 ** 31 - 2);
  } catch {
    choose(62_000, 65_500);
  }
}
