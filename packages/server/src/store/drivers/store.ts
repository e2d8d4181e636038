/** Interface of the store: reads, and writes that are durable once they resolve. */
import { type Kysely, PostgresAdapter } from "kysely";
import type { Tables } from "../schema/tables.ts";

export type Db = Kysely<Tables>;

/** Whether the store is PostgreSQL, for the few statements that differ between PostgreSQL and SQLite. */
export const isPostgres = (db: Db) => db.getExecutor().adapter instanceof PostgresAdapter;

export interface Store {
  readonly kind: "sqlite" | "postgres";
  /** Connection for reads. It sees only committed rows. */
  readonly db: Db;
  /**
   * Runs one atomic write and resolves after its commit is on disk. If it rejects, nothing was changed, except that
   * after `StoreUnavailable` this may be unknown. `work` must await nothing but the store.
   */
  write<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /** Returns false while the store is known to be unreachable. */
  isReachable(): boolean;
  /** Reserves disk space for writes that must succeed on a full disk. Does nothing on PostgreSQL. */
  reserve(): Promise<void>;
  /**
   * Rewrites the database so that no old row contents remain in its files, then reserves disk space again. May take long;
   * call it only while the server is not serving.
   */
  compact(): Promise<void>;
  close(): Promise<void>;
}
