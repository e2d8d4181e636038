/** One server to a data folder. The lock ends with the process, however that ends. For the database: store/drivers/database-lock.ts. */
import { chmodSync, closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { DataFolder } from "./data-folder.ts";

interface Lock {
  release(): Promise<void>;
}

/** The operating system's own file lock, by way of SQLite: Node has none. */
export function lockDataFolder(folder: DataFolder): Lock {
  const path = folder.lock;
  // Jobs may pass through the folder, and whoever can open a lock can keep it.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const file = new DatabaseSync(path, { timeout: 2000 });
  try {
    file.exec("pragma locking_mode = exclusive; begin exclusive; commit");
  } catch {
    file.close();
    throw new Error(
      `Another Millrace server uses the data folder ${folder.path}. Stop it, or start this one with --data-dir and --port of its own.`,
    );
  }
  return { release: async () => file.close() };
}
