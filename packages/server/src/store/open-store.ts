/** Which store, by what the operator gave. */
import { join } from "node:path";
import type { Store } from "./store.ts";

export interface StoreLocation {
  readonly dataDir: string;
  readonly databaseUrl: string;
}

/** The embedded store, in the data folder. */
export const storeFile = "millrace.db";

/** Opens the store and brings it up to date. */
export async function openStore(location: StoreLocation): Promise<Store> {
  if (location.databaseUrl) return (await import("./postgres.ts")).openPostgres(location.databaseUrl);
  return (await import("./sqlite.ts")).openSqlite(join(location.dataDir, storeFile));
}
