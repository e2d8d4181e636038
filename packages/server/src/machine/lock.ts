/**
 * The lock that lets only one server use a data folder. It is released when the process ends, even if the process is
 * killed.
 */
import { chmodSync, closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { DataFolder } from "./data-folder.ts";

interface Lock {
  release(): Promise<void>;
}

/**
 * Locks the data folder. Throws if another server holds the lock. Uses the lock of an SQLite database, because Node has
 * no file locks.
 */
export function lockDataFolder(folder: DataFolder): Lock {
  const path = folder.lock;
  // Only the server's user may open the file: jobs can reach the folder, and a process that can open the file can lock it.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const file = new DatabaseSync(path, { timeout: 2000 });
  try {
    file.exec("pragma locking_mode = exclusive; begin exclusive; commit");
  } catch {
    file.close();
    throw new Error(
      `Another Millrace server uses the data folder ${folder.path}. Stop that server, or start this one with a different --data-dir and --port.`,
    );
  }
  return { release: async () => file.close() };
}
