/** One server to a data folder, and for now one to a database. Both locks end with the process, however it ends. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

export interface Lock {
  release(): Promise<void>;
}

/** The operating system's own file lock, by way of SQLite: Node has none. */
export function lockDataFolder(dataDir: string): Lock {
  const file = new DatabaseSync(join(dataDir, "server.lock"), { timeout: 2000 });
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

const serverLock = 0x6d696c6d;

/** A server that was killed a moment ago may still hold it until the database notices, so this asks for a while. */
export async function lockDatabase(databaseUrl: string): Promise<Lock> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  await client.connect();
  for (let tries = 0; tries < 50; tries++) {
    const { rows } = await client.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [serverLock]);
    if (rows[0]?.locked) return { release: () => client.end() };
    await sleep(200);
  }
  await client.end();
  throw new Error(
    "Another Millrace server uses this database. Several servers on one database come in a later version.",
  );
}
