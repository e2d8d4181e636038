/** Makes a store that was just opened ready for a server: keys, first rows, what an earlier server left. */
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { keyLocation, openKeys } from "../admin/keys/key-file.ts";
import type { ListeningSettings } from "../configuration/groups/listening.ts";
import { continueJobIds, prepareStore } from "../domain/lifecycle/first-start.ts";
import { endForeignAttempts } from "../domain/lifecycle/lost-attempts.ts";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import { isLoopback } from "../http/connections/hosts.ts";
import type { Store } from "../store/drivers/store.ts";
import { hasAdministratorWithPassword } from "../store/queries/people/users.ts";
import type { Surroundings } from "./surroundings.ts";

export interface PreparedStore {
  readonly store: Store;
  readonly keys: KeyRing;
  /** Names the data folder. */
  readonly serverId: string;
}

export async function preparedStore(
  store: Store,
  { config, folder, log, clock }: Surroundings,
): Promise<PreparedStore> {
  const onTrouble = (error: Error) => log.error({ err: error }, "the key file cannot be used");
  const keys = await openKeys(keyLocation(config), store, onTrouble);
  // After the keys: they encrypt what an older version left in clear, and cut the write-ahead log short for that.
  await store.reserve();
  await prepareStore(store, clock.now());
  await continueJobIds(store);
  await requireAdministrator(config.listening, store);
  const serverId = await readServerId(folder.serverId);
  await endForeignAttempts(store, serverId, clock.now());
  return { store, keys, serverId };
}

/** Refuses to listen for other machines before an administrator with a password can sign in and invite people. */
async function requireAdministrator({ host }: ListeningSettings, store: Store): Promise<void> {
  if (isLoopback(host) || (await hasAdministratorWithPassword(store.db))) return;
  throw Object.assign(
    new Error(`Other machines could reach the service at ${host}, and no administrator has a password yet`),
    { next: "millrace admin password, with the same data folder or database; or leave out --host" },
  );
}

/** Names the data folder: open attempts carry this id, so that a server recognizes its own. */
async function readServerId(path: string): Promise<string> {
  const known = await readFile(path, "utf8").catch(() => "");
  if (known.trim()) return known.trim();
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
