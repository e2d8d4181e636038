/**
 * Prepares an opened store for a server: opens the encryption keys, creates the initial rows, and ends attempts that a
 * server with another data folder left open.
 */
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
  /** Id of the data folder. It is stored with every open attempt. */
  readonly serverId: string;
}

export async function preparedStore(
  store: Store,
  { config, folder, log, clock }: Surroundings,
): Promise<PreparedStore> {
  const onTrouble = (error: Error) => log.error({ err: error }, "could not use the key file");
  const keys = await openKeys(keyLocation(config), store, onTrouble);
  // Reserving space must follow the opening of the keys: that step encrypts values which an older version stored in
  // plain text, and truncates the write-ahead log.
  await store.reserve();
  await prepareStore(store, clock.now());
  await continueJobIds(store);
  await requireAdministrator(config.listening, store);
  const serverId = await readServerId(folder.serverId);
  await endForeignAttempts(store, serverId, clock.now());
  return { store, keys, serverId };
}

/** Throws if no administrator has a password and other machines could reach the address that the server listens on. */
async function requireAdministrator({ host }: ListeningSettings, store: Store): Promise<void> {
  if (isLoopback(host) || (await hasAdministratorWithPassword(store.db))) return;
  throw Object.assign(
    new Error(
      `The server will not listen on ${host}: other machines can reach this address, and no administrator has a password yet`,
    ),
    { next: "Run millrace admin password with the same data folder or database, or leave out --host" },
  );
}

/**
 * Returns the id of the data folder. Creates the id on first use. It is stored with every open attempt, so that a
 * server recognizes its own attempts.
 */
async function readServerId(path: string): Promise<string> {
  const known = await readFile(path, "utf8").catch(() => "");
  if (known.trim()) return known.trim();
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
