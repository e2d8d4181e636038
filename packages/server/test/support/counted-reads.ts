/** A store's database that counts what statements bring: the bytes that leave the store, whoever throws them away. */
import type { KyselyPlugin } from "kysely";
import type { Db } from "../../src/store/store.ts";

export interface CountedReads {
  readonly db: Db;
  bytes(): number;
}

export function countReads(db: Db): CountedReads {
  let bytes = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      for (const row of result.rows) for (const value of Object.values(row)) bytes += sizeOf(value);
      return result;
    },
  };
  return { db: db.withPlugin(plugin), bytes: () => bytes };
}

const sizeOf = (value: unknown) => (typeof value === "string" ? Buffer.byteLength(value) : value === null ? 0 : 8);
