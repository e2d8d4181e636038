/** A server in this process on one of the databases, for tests that run on both. */
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import { type InProcessServer, startInProcess } from "./in-process.ts";

export const databases = ["SQLite", "PostgreSQL"] as const;

export async function startOn(database: (typeof databases)[number]): Promise<InProcessServer> {
  if (database === "SQLite") return startInProcess();
  const postgres = await startPostgres();
  const server = await startInProcess({ MILLRACE_DATABASE_URL: await postgres.createDatabase() });
  const dispose = async () => {
    await server.dispose();
    await postgres.stop();
  };
  return { ...server, dispose };
}
