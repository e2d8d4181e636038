/** A store that tells which changes its writes made, once they are committed. */
import type { NoticeKind } from "@millrace/contract";
import { currentAsker } from "../../turns/asker.ts";
import type { Change } from "../../turns/changes.ts";
import type { Db, Store } from "./store.ts";

/** Maximum number of changes that one write tells; of more, it tells only the teams and kinds. */
const mostTold = 100;

/** The changes of the writes that are under way, by the connection that they use. Writes on one connection take turns. */
const underWay = new WeakMap<Db, Change[]>();

/** Notes a change that the current write makes. Does nothing outside of a write of a noted store. */
export function noteChange(db: Db, kind: NoticeKind, team: number, id?: string): void {
  underWay.get(db)?.push({ team, kind, id });
}

/**
 * Wraps a store; `tell` gets the changes after each write. It also gets them if the write fails, because the outcome of
 * a failed write may be unknown, and a change that did not happen does no harm.
 */
export const notedStore = (store: Store, tell: (change: Change) => void): Store => ({
  ...store,
  async write(work) {
    let changes: Change[] = [];
    const noting = async (db: Db) => {
      changes = [];
      underWay.set(db, changes);
      try {
        return await work(db);
      } finally {
        underWay.delete(db);
      }
    };
    try {
      return await store.write(noting);
    } finally {
      const noted = currentAsker()?.noted;
      for (const { kind } of changes) noted?.add(kind);
      for (const change of shortened(changes)) tell(change);
    }
  },
});

function shortened(changes: readonly Change[]): Iterable<Change> {
  if (changes.length <= mostTold) return changes;
  return new Map(changes.map(({ team, kind }) => [`${team} ${kind}`, { team, kind }])).values();
}
