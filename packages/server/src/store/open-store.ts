/** Which store, by what the operator gave. */
import type { Store } from "./store.ts";

export interface StoreLocation {
  readonly dataDir: string;
  readonly databaseUrl: string;
}

/** Opens the store and brings it up to date. */
export async function openStore(location: StoreLocation): Promise<Store> {
  if (location.databaseUrl) return (await import("./postgres.ts")).openPostgres(location.databaseUrl);
  return (await import("./sqlite.ts")).openSqlite(location.dataDir);
}
