/** Which store, by what the operator gave. */
import type { DatabaseLock, LockEvents } from "../drivers/database-lock.ts";
import type { Prepare } from "../drivers/prepare.ts";
import type { Store } from "../drivers/store.ts";
import { migrate } from "../migrations/migrations.ts";

export interface StoreLocation {
  /** The SQLite database, where no URL is given. */
  readonly file: string;
  readonly databaseUrl: string;
  /** Seconds after which a database that does not answer counts as away. */
  readonly databaseTimeout?: number;
}

const timeoutOf = ({ databaseTimeout = 10 }: StoreLocation) => databaseTimeout * 1000;

/** Opens the store and brings it up to date, or prepares it in another way. A server on PostgreSQL has a lock. */
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

/** The embedded store needs none beside that of the data folder. */
export async function lockDatabase(location: StoreLocation, events: LockEvents): Promise<DatabaseLock | undefined> {
  if (!location.databaseUrl) return undefined;
  const { DatabaseLock } = await import("../drivers/database-lock.ts");
  return DatabaseLock.take(location.databaseUrl, timeoutOf(location), events);
}
