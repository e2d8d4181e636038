/** One server to a data folder, and for now one to a database. Both locks end with the process, however it ends. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client as PgClient } from "pg";

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

/**
 * Held by a connection of its own. Where that breaks, as when the database restarts, the lock is taken again; `onLost` is
 * told when another server was faster.
 */
export async function lockDatabase(databaseUrl: string, onLost: (error: Error) => void): Promise<Lock> {
  let released = false;
  let client = await connect(databaseUrl, again);
  function again(): void {
    if (released) return;
    connect(databaseUrl, again).then(
      (next) => {
        client = next;
      },
      (error: Error) => (released ? undefined : onLost(error)),
    );
  }
  return {
    async release() {
      released = true;
      await client.end();
    },
  };
}

/** A server that was killed a moment ago may still hold the lock until the database notices, so this asks for a while. */
async function connect(databaseUrl: string, onEnd: () => void): Promise<PgClient> {
  const { default: pg } = await import("pg");
  let failure = new Error(
    "Another Millrace server uses this database. Several servers on one database come in a later version.",
  );
  for (let tries = 0; tries < 50; tries++) {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [
        serverLock,
      ]);
      if (rows[0]?.locked) {
        client.once("end", onEnd);
        return client;
      }
    } catch (error) {
      failure = error as Error;
    }
    await client.end().catch(() => {});
    await sleep(200);
  }
  throw failure;
}
