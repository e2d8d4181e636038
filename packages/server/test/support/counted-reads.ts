/**
 * A database connection that counts statements and the bytes that they return, including bytes that the caller
 * discards.
 */
import type { KyselyPlugin } from "kysely";
import type { Db, Store } from "../../src/store/drivers/store.ts";

export interface CountedReads {
  readonly db: Db;
  bytes(): number;
  statements(): number;
}

export function countReads(db: Db): CountedReads {
  let bytes = 0;
  let statements = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      statements++;
      for (const row of result.rows) for (const value of Object.values(row)) bytes += sizeOf(value);
      return result;
    },
  };
  return { db: db.withPlugin(plugin), bytes: () => bytes, statements: () => statements };
}

/** The same for a store: counts reads, and statements inside its writes. */
export function countStore(store: Store) {
  const counts: CountedReads[] = [];
  const counted = (db: Db) => {
    const reads = countReads(db);
    counts.push(reads);
    return reads.db;
  };
  const sum = (of: (reads: CountedReads) => number) => counts.reduce((total, reads) => total + of(reads), 0);
  return {
    store: {
      ...store,
      db: counted(store.db),
      write: <T>(work: (db: Db) => Promise<T>) => store.write((db) => work(counted(db))),
    } satisfies Store,
    bytes: () => sum((reads) => reads.bytes()),
    statements: () => sum((reads) => reads.statements()),
  };
}

const sizeOf = (value: unknown) => (typeof value === "string" ? Buffer.byteLength(value) : value === null ? 0 : 8);
