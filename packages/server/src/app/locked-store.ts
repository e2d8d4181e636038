/** Locks the data folder and the database, so that no other server uses them, and opens the store. */
import { mkdir } from "node:fs/promises";
import { refuseUnfinished } from "../admin/backup/unfinished-restore.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import { lockDataFolder } from "../machine/lock.ts";
import type { DatabaseLock, LockEvents } from "../store/drivers/database-lock.ts";
import type { Store } from "../store/drivers/store.ts";
import { lockDatabase, openStore, type StoreLocation } from "../store/opening/open-store.ts";
import { opened, type Part } from "./part.ts";
import type { Surroundings } from "./surroundings.ts";

type LockSurroundings = Pick<Surroundings, "log" | "changes" | "beforeRivalExit">;

/** Time limit for the work before the exit, in milliseconds. */
const lastWorkMs = 15_000;

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
export const databaseLock = (location: StoreLocation, surroundings: LockSurroundings): Part<DatabaseLock | undefined> =>
  opened(
    () => lockDatabase(location, lockEvents(surroundings)),
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
const lockEvents = ({ log, changes, beforeRivalExit }: LockSurroundings): LockEvents => ({
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
  // Two servers must not write to one database. The other one has another data folder, because this server still holds
  // the lock of its own. So the other one has given up the jobs that run here, and may run them again.
  onRival(error) {
    log.fatal({ err: error }, "another server took the lock on the database; this server ends its jobs and exits");
    setTimeout(() => process.exit(1), lastWorkMs);
    void Promise.allSettled([...beforeRivalExit].map((work) => work())).then(() => process.exit(1));
  },
});
