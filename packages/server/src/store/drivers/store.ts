/** What the rest of the server sees of the store: reads, and writes that are durable once they resolve. */
import { type Kysely, PostgresAdapter } from "kysely";
import type { Tables } from "../schema/tables.ts";

export type Db = Kysely<Tables>;

/** For the few statements that the two stores write in different ways. */
export const isPostgres = (db: Db) => db.getExecutor().adapter instanceof PostgresAdapter;

export interface Store {
  readonly kind: "sqlite" | "postgres";
  /** For reading. Sees committed rows only. */
  readonly db: Db;
  /**
   * One atomic, durable write: resolves after the commit reached the disk, rejects with nothing changed; or, with
   * `StoreUnavailable`, perhaps not knowing whether its commit was made.
   * Inside, await nothing but the store.
   */
  write<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /** False while it is known that the store cannot be reached. */
  isReachable(): boolean;
  /** Keeps room on the disk for what must be written when it is full. The disk of a database is its operator's matter. */
  reserve(): Promise<void>;
  /**
   * Leaves nothing behind of rows as they were before they changed, and room reserved. Takes as long as it takes; for a
   * server that is not serving.
   */
  compact(): Promise<void>;
  close(): Promise<void>;
}
