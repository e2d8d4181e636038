/** Checks the database: whether it answers, whether its schema is supported, and whether its clock is right. */
import { stat } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { DataSettings } from "../../configuration/groups/data.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import { schemaVersion } from "../../store/migrations/migrations.ts";
import type { Finding } from "./finding.ts";

type Location = Pick<DataSettings, "databaseUrl" | "dataDir">;

interface StoreFacts {
  /** Schema version; undefined if no server has used the database yet. */
  readonly version: number | undefined;
  /** Creation time of the newest job; undefined if there is none. */
  readonly newestCreated: string | undefined;
  /** Milliseconds by which the database's clock is ahead of this machine's. */
  readonly ahead: number;
}

export async function checkStore(config: Location): Promise<Finding[]> {
  const topic = "store";
  const name = config.databaseUrl ? "PostgreSQL" : "embedded SQLite";
  try {
    const facts = await readFacts(config);
    if (!facts)
      return [{ level: "ok", topic, message: `${name}; the first start of the server creates it` }, checkClock()];
    return [describeVersion(name, facts.version), checkClock(facts)];
  } catch (error) {
    const message = `${name} does not answer: ${(error as Error).message}`;
    const next = config.databaseUrl
      ? "check --database-url, or leave it out to use SQLite"
      : `check that ${new DataFolder(config.dataDir).storeFile} is readable and not damaged; restore a backup if it is damaged`;
    return [{ level: "error", topic, message, next }, checkClock()];
  }
}

function describeVersion(name: string, version: number | undefined): Finding {
  const topic = "store";
  if (version === undefined || version === schemaVersion) return { level: "ok", topic, message: name };
  if (version < schemaVersion) {
    const message = `${name} has schema version ${version}; this program uses version ${schemaVersion}`;
    return {
      level: "warn",
      topic,
      message,
      next: "take a backup: the next start upgrades the schema, which cannot be undone",
    };
  }
  const message = `${name} was written by a newer version of Millrace: its schema version is ${version}, this program supports up to ${schemaVersion}`;
  return { level: "error", topic, message, next: "upgrade this program" };
}

const readFacts = ({ databaseUrl, dataDir }: Location) =>
  databaseUrl ? readDatabase(databaseUrl) : readFile(new DataFolder(dataDir).storeFile);

/**
 * Reads the facts from a SQLite file without changing anything. If no server has the file open, SQLite must not create
 * its -wal and -shm files.
 */
async function readFile(path: string): Promise<StoreFacts | undefined> {
  if (!(await stat(path).catch(() => undefined))) return undefined;
  const url = pathToFileURL(path);
  if (!(await stat(`${path}-wal`).catch(() => undefined))) url.searchParams.set("immutable", "1");
  const connection = new DatabaseSync(url, { readOnly: true, timeout: 5000 });
  try {
    const one = (query: string) => Object.values(connection.prepare(query).get() ?? {})[0] ?? undefined;
    if (one("select name from sqlite_master where name = 'schema_version'") === undefined)
      return { version: undefined, newestCreated: undefined, ahead: 0 };
    const version = Number(one("select max(version) from schema_version"));
    return {
      version,
      newestCreated: one("select created_at from jobs order by id desc limit 1") as string | undefined,
      ahead: 0,
    };
  } finally {
    connection.close();
  }
}

async function readDatabase(databaseUrl: string): Promise<StoreFacts> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
  });
  // Without a listener, a connection that ends unexpectedly would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    const one = async (query: string) =>
      Object.values((await client.query<Record<string, unknown>>(query)).rows[0] ?? {})[0];
    const asked = Date.now();
    const theirs = Number(await one("select extract(epoch from clock_timestamp()) * 1000"));
    // The database read its clock between the two readings of this machine's clock.
    const ahead = theirs > Date.now() ? theirs - Date.now() : theirs < asked ? theirs - asked : 0;
    if ((await one("select to_regclass('schema_version')::text")) === null)
      return { version: undefined, newestCreated: undefined, ahead };
    const version = Number(await one("select max(version) from schema_version"));
    return {
      version,
      newestCreated: ((await one("select created_at from jobs order by id desc limit 1")) ?? undefined) as
        | string
        | undefined,
      ahead,
    };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Difference between two clocks that is tolerated, in milliseconds. */
const tolerance = 2000;

function checkClock(facts?: StoreFacts): Finding {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return describeClock({ now: Date.now(), zone, ahead: facts?.ahead ?? 0, newestCreated: facts?.newestCreated });
}

interface Clocks extends Pick<StoreFacts, "ahead" | "newestCreated"> {
  readonly now: number;
  readonly zone: string;
}

export function describeClock({ now, zone, ahead, newestCreated }: Clocks): Finding {
  const topic = "clock";
  const next = "set the clock; `timedatectl` shows whether it is synchronized";
  const future = newestCreated === undefined ? 0 : Date.parse(newestCreated) - now;
  if (future > tolerance) {
    const message = `the newest job has a creation time ${Math.round(future / 1000)} s in the future: the clock of this machine is behind, or was ahead when the job was created`;
    return { level: "error", topic, message, next };
  }
  if (Math.abs(ahead) > tolerance) {
    const message = `the database's clock is ${Math.abs(ahead / 1000).toFixed(1)} s ${ahead > 0 ? "ahead of" : "behind"} the clock of this machine`;
    return { level: "warn", topic, message, next };
  }
  if (!zone || zone === "Etc/Unknown")
    return { level: "warn", topic, message: "this machine has no time zone set", next: "set MILLRACE_TIMEZONE" };
  return { level: "ok", topic, message: `${new Date(now).toISOString()}, ${zone}` };
}
