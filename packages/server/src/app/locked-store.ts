/** Locks the data folder and the database, so that no other server uses them, and opens the store. */
import { mkdir } from "node:fs/promises";
import type { Logger } from "pino";
import { refuseUnfinished } from "../admin/backup/unfinished-restore.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import { lockDataFolder } from "../machine/lock.ts";
import type { DatabaseLock, LockEvents } from "../store/drivers/database-lock.ts";
import type { Store } from "../store/drivers/store.ts";
import { lockDatabase, openStore, type StoreLocation } from "../store/opening/open-store.ts";
import type { Changes } from "../turns/changes.ts";
import { opened, type Part } from "./part.ts";

export const lockedFolder = (folder: DataFolder): Part<unknown> =>
  opened(
    async () => {
      await mkdir(folder.path, { recursive: true, mode: 0o700 });
      await refuseUnfinished(folder);
      return lockDataFolder(folder);
    },
    (lock) => lock.release(),
  );

/**
 * Locks the database. For SQLite it takes no lock and returns undefined, because the lock of the data folder is enough.
 */
export const databaseLock = (location: StoreLocation, log: Logger, changes: Changes): Part<DatabaseLock | undefined> =>
  opened(
    () => lockDatabase(location, lockEvents(log, changes)),
    (lock) => lock?.release(),
  );

export const database = (location: StoreLocation, lock: DatabaseLock | undefined): Part<Store> =>
  opened(
    () => openStore(location, undefined, lock),
    (store) => store.close(),
  );

/**
 * Logs when the database becomes unreachable and when it is reachable again, one line each, however many callers
 * notice, and tells those who follow changes.
 */
const lockEvents = (log: Logger, changes: Changes): LockEvents => ({
  onWaiting: ({ message }) =>
    log.warn({ why: message }, "the database is unreachable; the server waits for it before it starts"),
  onLost({ message }) {
    log.warn({ why: message }, "the database is unreachable; requests get status 503, running jobs continue");
    changes.noteDatabase("away");
  },
  onBack(seconds) {
    log.info({ seconds: Math.round(seconds * 10) / 10 }, "the database is reachable again");
    changes.noteDatabase("back");
  },
  // Two servers must not write to one database. The jobs of this server continue.
  onRival(error) {
    log.fatal({ err: error }, "another server took the lock on the database; this server exits, its jobs continue");
    process.exit(1);
  },
});
