/** Which store, by what the operator gave. */
import { join } from "node:path";
import type { Prepare } from "./migrations.ts";
import type { Store } from "./store.ts";

export interface StoreLocation {
  readonly dataDir: string;
  readonly databaseUrl: string;
}

/** The embedded store, in the data folder. */
export const storeFile = "millrace.db";

/** Opens the store and brings it up to date, or prepares it in another way. */
export async function openStore(location: StoreLocation, prepare?: Prepare): Promise<Store> {
  if (location.databaseUrl) return (await import("./postgres.ts")).openPostgres(location.databaseUrl, prepare);
  return (await import("./sqlite.ts")).openSqlite(join(location.dataDir, storeFile), prepare);
}
