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
  withNobodysId((id) => chownSync(path, id, id), taken);
}

/** Gives a file to root and to a random group that no account has. */
export function giveToNobodysGroup(path: string): void {
  withNobodysId((id) => chownSync(path, 0, id), new Set());
}

function withNobodysId(give: (id: number) => void, taken: ReadonlySet<number>): void {
  const choose = (first: number, last: number) => {
    let id = randomInt(first, last);
    while (taken.has(id)) id = randomInt(first, last);
    give(id);
  };
  try {
    choose(2 ** 21, 2 ** 31 - 2);
  } catch {
    choose(62_000, 65_500);
  }
}
