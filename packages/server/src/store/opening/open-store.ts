/** Opens the SQLite or PostgreSQL store that the operator configured. */
import type { DatabaseLock, LockEvents } from "../drivers/database-lock.ts";
import type { Prepare } from "../drivers/prepare.ts";
import type { Store } from "../drivers/store.ts";
import { migrate } from "../migrations/migrations.ts";

export interface StoreLocation {
  /** Path of the SQLite database, used if there is no URL. */
  readonly file: string;
  readonly databaseUrl: string;
  /** Seconds after which a database that does not answer counts as unreachable. */
  readonly databaseTimeout?: number;
}

const timeoutOf = ({ databaseTimeout = 10 }: StoreLocation) => databaseTimeout * 1000;

/** Opens the store and prepares it: by default, runs the migrations. A server on PostgreSQL also passes its lock. */
export async function openStore(
  location: StoreLocation,
  prepare: Prepare = migrate,
  lock?: DatabaseLock,
): Promise<Store> {
  const { databaseUrl } = location;
  if (databaseUrl) {
    const { openPostgres } = await import("../drivers/postgres.ts");
    return openPostgres({ databaseUrl, timeout: timeoutOf(location), prepare, lock });
  }
  return (await import("../drivers/sqlite.ts")).openSqlite(location.file, prepare);
}

/**
 * Takes the lock that allows one server per PostgreSQL database. SQLite needs none: the lock of the data folder
 * suffices.
 */
export async function lockDatabase(location: StoreLocation, events: LockEvents): Promise<DatabaseLock | undefined> {
  if (!location.databaseUrl) return undefined;
  const { DatabaseLock } = await import("../drivers/database-lock.ts");
  return DatabaseLock.take(location.databaseUrl, timeoutOf(location), events);
}
