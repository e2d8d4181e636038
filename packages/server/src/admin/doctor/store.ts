/** The store: whether it answers, whether this program knows it, and what its clock says. */
import { stat } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { DataSettings } from "../../configuration/groups/data.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import { schemaVersion } from "../../store/migrations/migrations.ts";
import type { Finding } from "./finding.ts";

type Location = Pick<DataSettings, "databaseUrl" | "dataDir">;

interface StoreFacts {
  /** Undefined: nobody has used it yet. */
  readonly version: number | undefined;
  readonly newestCreated: string | undefined;
  /** Milliseconds by which the database's clock is ahead of ours. */
  readonly ahead: number;
}

export async function checkStore(config: Location): Promise<Finding[]> {
  const topic = "store";
  const name = config.databaseUrl ? "PostgreSQL" : "embedded SQLite";
  try {
    const facts = await readFacts(config);
    if (!facts) return [{ level: "ok", topic, message: `${name}, made by the first start` }, checkClock()];
    return [describeVersion(name, facts.version), checkClock(facts)];
  } catch (error) {
    const message = `${name} does not answer: ${(error as Error).message}`;
    const next = config.databaseUrl
      ? "check --database-url, or leave it out for the embedded store"
      : `check that ${new DataFolder(config.dataDir).storeFile} is whole and readable; restore a backup if it is not`;
    return [{ level: "error", topic, message, next }, checkClock()];
  }
}

function describeVersion(name: string, version: number | undefined): Finding {
  const topic = "store";
  if (version === undefined || version === schemaVersion) return { level: "ok", topic, message: name };
  if (version < schemaVersion) {
    const message = `${name}, at schema version ${version} of ${schemaVersion}`;
    return {
      level: "warn",
      topic,
      message,
      next: "take a backup: the next start upgrades it, and there is no way back",
    };
  }
  const message = `${name} was written by a newer Millrace: schema version ${version}, this program knows ${schemaVersion}`;
  return { level: "error", topic, message, next: "upgrade this program" };
}

const readFacts = ({ databaseUrl, dataDir }: Location) =>
  databaseUrl ? readDatabase(databaseUrl) : readFile(new DataFolder(dataDir).storeFile);

/** Looks without leaving a trace: where no server has the file open, without the files that go with it. */
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
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 });
  await client.connect();
  try {
    const one = async (query: string) =>
      Object.values((await client.query<Record<string, unknown>>(query)).rows[0] ?? {})[0];
    const asked = Date.now();
    const theirs = Number(await one("select extract(epoch from clock_timestamp()) * 1000"));
    // They looked at their clock somewhere between our two looks at ours.
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
    await client.end();
  }
}

/** How far two clocks may be apart, in milliseconds. */
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
  const next = "set the clock: `timedatectl` says whether it is kept in time";
  const future = newestCreated === undefined ? 0 : Date.parse(newestCreated) - now;
  if (future > tolerance) {
    const message = `the newest job was created ${Math.round(future / 1000)} s in the future: this clock is behind, or was ahead`;
    return { level: "error", topic, message, next };
  }
  if (Math.abs(ahead) > tolerance) {
    const message = `the database's clock is ${Math.abs(ahead / 1000).toFixed(1)} s ${ahead > 0 ? "ahead of" : "behind"} this one`;
    return { level: "warn", topic, message, next };
  }
  if (!zone || zone === "Etc/Unknown")
    return { level: "warn", topic, message: "this machine has no time zone", next: "set MILLRACE_TIMEZONE" };
  return { level: "ok", topic, message: `${new Date(now).toISOString()}, ${zone}` };
}
