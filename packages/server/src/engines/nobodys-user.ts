/**
 * Gives files to a user id that no account and no job has. Then only root and processes with that id can change the
 * files.
 */
import { randomInt } from "node:crypto";
import { chownSync } from "node:fs";

/**
 * Gives a file to a random user id that is higher than the ids of all accounts. If the machine does not allow such a
 * high id, uses one just below 65536.
 */
export function giveToNobody(path: string, taken: ReadonlySet<number> = new Set()): void {
  withNobodysId((id) => chownSync(path, id, id), taken, [62_000, 64_000]);
}

/**
 * Gives a file to root and to a random group that no account has. The low numbers are others than those of
 * `giveToNobody`, because a member of such a group must not become a member of another one by chance.
 */
export function giveToNobodysGroup(path: string, taken: ReadonlySet<number>): void {
  withNobodysId((id) => chownSync(path, 0, id), taken, [64_000, 65_500]);
}

function withNobodysId(
  give: (id: number) => void,
  taken: ReadonlySet<number>,
  low: readonly [first: number, last: number],
): void {
  const choose = (first: number, last: number) => {
    let id = randomInt(first, last);
    while (taken.has(id)) id = randomInt(first, last);
    give(id);
  };
  try {
    choose(2 ** 21, 2 ** 31 - 2);
  } catch {
    choose(...low);
  }
}
