/** One server to a data folder. The lock ends with the process, however that ends. For the database: store/drivers/database-lock.ts. */
import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

interface Lock {
  release(): Promise<void>;
}

/** The name of the lock in the data folder. */
export const lockFile = "server.lock";

/** The operating system's own file lock, by way of SQLite: Node has none. */
export function lockDataFolder(dataDir: string): Lock {
  const path = join(dataDir, lockFile);
  // Jobs may pass through the folder, and whoever can open a lock can keep it.
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
  const file = new DatabaseSync(path, { timeout: 2000 });
  try {
    file.exec("pragma locking_mode = exclusive; begin exclusive; commit");
  } catch {
    file.close();
    throw new Error(
      `Another Millrace server uses the data folder ${dataDir}. Stop it, or start this one with --data-dir and --port of its own.`,
    );
  }
  return { release: async () => file.close() };
}
