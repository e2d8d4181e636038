/** Reads all rows of a store as of one point in time while others write, and inserts rows into an empty store. */
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { type Db, isPostgres } from "../drivers/store.ts";
import type { Tables } from "../schema/tables.ts";
import type { StoreLocation } from "./open-store.ts";

/**
 * All tables, each listed after the tables that it references. Pending sign-ins are left out: they are useless in a
 * restored store.
 */
const tables = {
  users: "kept",
  teams: "kept",
  memberships: "kept",
  tokens: "kept",
  sessions: "left out",
  sign_in_links: "left out",
  browsers: "left out",
  clock_marks: "left out",
  device_logins: "left out",
  invitations: "kept",
  audit: "kept",
  credentials: "kept",
  clusters: "kept",
  cluster_teams: "kept",
  files: "kept",
  jobs: "kept",
  large_specs: "kept",
  texts: "kept",
  job_texts: "kept",
  queue: "kept",
  attempts: "kept",
  ended_attempts: "kept",
  tasks: "kept",
  idempotency_keys: "kept",
  job_tags: "kept",
  namespaces: "kept",
  projects: "kept",
  datasets: "kept",
  dataset_versions: "kept",
  dataset_dependencies: "kept",
  dataset_version_jobs: "kept",
  exports: "left out",
  team_stores: "kept",
  team_usage: "kept",
  pipelines: "kept",
  pipeline_runs: "kept",
  pipeline_edges: "kept",
  schedules: "kept",
  firings: "kept",
  schedule_notices: "kept",
  job_chains: "kept",
  backfills: "kept",
  backfill_moments: "kept",
  receivers: "kept",
  // A restored backup must not send notifications again that were already sent.
  outbox: "left out",
  deliveries: "left out",
  failing: "kept",
} as const satisfies Record<keyof Tables, "kept" | "left out">;

export type KeptTable = { [T in keyof typeof tables]: (typeof tables)[T] extends "kept" ? T : never }[keyof Tables];
export const keptTables = (Object.keys(tables) as KeptTable[]).filter((table) => tables[table] === "kept");

/** Tables with auto-increment ids. */
const counted: readonly KeptTable[] = [
  "users",
  "teams",
  "tokens",
  "invitations",
  "audit",
  "credentials",
  "clusters",
  "files",
  "namespaces",
  "projects",
  "datasets",
  "dataset_versions",
  "schedules",
  "firings",
  "backfills",
  "receivers",
];

export type Row = Record<string, string | number | null>;

export interface Snapshot {
  readonly schemaVersion: number;
  /** Size of the database on disk, in bytes. */
  readonly size: number;
  /** Yields the rows of a table; none if the table does not exist in this schema version. */
  rows(table: KeptTable): AsyncGenerator<Row>;
  close(): Promise<void>;
}

/** Opens a read-only snapshot that changes nothing, not even the schema version. */
export const openSnapshot = ({ file, databaseUrl }: StoreLocation): Promise<Snapshot> =>
  databaseUrl ? openPostgresSnapshot(databaseUrl) : openSqliteSnapshot(file);

/** Opens a snapshot of SQLite. Its transaction sees the database as it is at the first read. */
async function openSqliteSnapshot(path: string): Promise<Snapshot> {
  const connection = new DatabaseSync(path, { timeout: 15_000 });
  connection.exec("pragma query_only = on; begin");
  const one = (query: string) => Number(Object.values(connection.prepare(query).get() ?? {})[0]);
  const schemaVersion = one("select max(version) from schema_version");
  const present = new Set(
    connection
      .prepare("select name from sqlite_master where type = 'table'")
      .all()
      .map(({ name }) => String(name)),
  );
  return {
    schemaVersion,
    size: one("pragma page_count") * one("pragma page_size"),
    async *rows(table) {
      if (!present.has(table)) return;
      for (const row of connection.prepare(`select * from ${table}`).iterate()) yield { ...row } as Row;
    },
    close: async () => connection.close(),
  };
}

/** Number of rows per fetch from the cursor. */
const fetched = 200;

async function openPostgresSnapshot(databaseUrl: string): Promise<Snapshot> {
  const { default: pg } = await import("pg");
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);
  const client = new pg.Client({ connectionString: databaseUrl });
  // The next query reports a broken connection; without a listener, its error event would end the process.
  client.on("error", () => {});
  await client.connect();
  await client.query("begin isolation level repeatable read read only");
  const one = async (query: string) => Object.values((await client.query<Row>(query)).rows[0] ?? {})[0];
  return {
    schemaVersion: Number(await one("select max(version) from schema_version")),
    size: Number(await one("select pg_database_size(current_database())")),
    async *rows(table) {
      if ((await one(`select to_regclass('${table}')::text`)) === null) return;
      await client.query(`declare every_row no scroll cursor for select * from ${table}`);
      for (;;) {
        const { rows } = await client.query<Row>(`fetch ${fetched} from every_row`);
        yield* rows;
        if (rows.length < fetched) break;
      }
      await client.query("close every_row");
    },
    close: () => client.end(),
  };
}

/** Whether the database contains no tables of Millrace. */
export async function isEmptyDatabase(databaseUrl: string): Promise<boolean> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query("select to_regclass('schema_version') as found");
    return (rows[0] as { found: string | null }).found === null;
  } finally {
    await client.end();
  }
}

export const insertRows = (db: Db, table: KeptTable, rows: readonly Row[]) =>
  db
    .insertInto(table)
    .values(rows as never)
    .execute();

/** Moves PostgreSQL's id sequences past the inserted rows. SQLite does this itself. */
export async function countOnFromRows(db: Db): Promise<void> {
  if (!isPostgres(db)) return;
  for (const table of counted) {
    const next = sql`(select coalesce(max(id), 0) + 1 from ${sql.table(table)})`;
    await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${next}, false)`.execute(db);
  }
}
