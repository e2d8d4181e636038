/**
 * Planted values: recognisable secrets are given to jobs that print them in every way, and then searched for in
 * everything that leaves the server or stays on its disk. They may be in the raw log of their job and, while the job
 * runs, in the file that passes them to it; nowhere else.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { type Client, createClient, type JobInput, routes } from "@millrace/contract";
import { createJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { millrace, TestServer } from "@millrace/testing/millrace/server.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import pg from "pg";
import { WebSocket } from "ws";
import { openStore } from "../../src/store/opening/open-store.ts";
import { insertMembership } from "../../src/store/queries/people/memberships.ts";
import { insertUser } from "../../src/store/queries/people/users.ts";

const planted = {
  team: "Planted-Team-Value-1f3a",
  own: 'Planted Own "Value" 77/é',
  pem: "-----BEGIN PLANTED-----\nPlantedLineOfAKey01\nPlantedLineOfAKey02\n-----END PLANTED-----",
  named: "planted-pw!",
  looks: "PlantedLooksLikeAToken0123456789",
  url: "postgres://planted:PlantedUrlPassword9@db.example/x",
} as const;

/** Strings that must occur nowhere: the values, and parts that would reveal them. */
const forbidden = [
  ...Object.values(planted),
  planted.team.slice(0, 11),
  "PlantedLineOfAKey01",
  "PlantedLineOfAKey02",
  "PlantedUrlPassword9",
  'Planted Own \\"Value\\" 77',
  "Planted%20Own%20%22Value%22%2077",
];

/**
 * Prints the values plainly, across the boundary of a piece, in two writes with a pause, escaped, and without a line
 * end.
 */
const script = `
printf '%s\\n' "$TEAM_VALUE" "$OWN_VALUE" "$BLOCK" "$DB_PASSWORD" "$SETTING" "$DATABASE_URL" "$MILLRACE_TOKEN"
printf '%65530s%s\\n' x "$TEAM_VALUE"
printf '%65526s%s%s\\n' y "$SETTING" "$DB_PASSWORD"
[ -z "$TEAM_VALUE" ] || {
  printf %.11s "$TEAM_VALUE"
  while [ ! -e "$GATE.half" ]; do sleep 0.05; done
  printf '%s\\n' "\${TEAM_VALUE#???????????}"
}
python3 -c 'import json, os, urllib.parse as u
v = os.environ["OWN_VALUE"]
print(json.dumps(v), json.dumps(v, ensure_ascii=False), u.quote(v), u.quote(v, safe=""), u.quote_plus(v))'
printf '%s\\n' "$MILLRACE_TOKEN" | rev > reversed
while [ ! -e "$GATE" ]; do sleep 0.05; done
printf '{"m": "%s"}' "$SETTING" > "$MILLRACE_METRICS_FILE"
printf 'fatal: %s' "$SETTING"
exit 7
`;

const environment = (gate: string) =>
  `DB_PASSWORD=${planted.named}\nSETTING=${planted.looks}\nDATABASE_URL=${planted.url}\nBLOCK="${planted.pem}"\nGATE=${gate}`;

/** Everything that was ever answered or written, by its origin. */
class Harvest {
  readonly #texts: [string, string][] = [];
  add(where: string, text: string): void {
    this.#texts.push([where, text]);
  }
  assertClean(more: readonly string[]): void {
    assert.ok(this.#texts.length > 20, "there is something to look at");
    for (const [where, text] of this.#texts) {
      for (const value of [...forbidden, ...more]) assert.ok(!text.includes(value), `${value} is in ${where}`);
    }
  }
}

/** Samples the argument lists of every process of the machine. */
function watchArguments(harvest: Harvest): () => void {
  const look = async () => {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
    harvest.add("an argument list", lines.join("\n"));
  };
  const timer = setInterval(() => void look(), 50);
  return () => clearInterval(timer);
}

/** Raw logs are not masked; `env` passes variables to the job while an attempt is open. */
const allowed = (path: string, running: boolean) =>
  /^jobs\/[^/]+\/log$/.test(path) ||
  (running && /^jobs\/[^/]+\/(env|input\/env|work\/reversed)$/.test(path)) ||
  path === "secret.key";

async function harvestFolder(harvest: Harvest, dataDir: string, running: boolean): Promise<void> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((candidate) => candidate.isFile())) {
    const path = relative(dataDir, join(entry.parentPath, entry.name));
    if (allowed(path, running)) continue;
    const bytes = await readFile(join(dataDir, path)).catch(() => Buffer.alloc(0));
    harvest.add(`${path} (${running ? "running" : "ended"})`, bytes.toString("latin1") + bytes.toString("utf8"));
  }
}

async function harvestDatabase(harvest: Harvest, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public'",
  );
  assert.ok(rows.some(({ name }) => name === "credentials"));
  for (const { name } of rows) harvest.add(name, JSON.stringify((await client.query(`select * from ${name}`)).rows));
  await client.end();
}

async function follow(harvest: Harvest, server: TestServer, token: string, id: string): Promise<void> {
  const url = `${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${id}&team_name=main`;
  const socket = new WebSocket(url, { headers: { authorization: `token ${token}` } });
  const frames: string[] = [];
  const messages: string[] = [];
  socket.on("message", (data: Buffer) => {
    frames.push(data.toString());
    const { logs = [] } = JSON.parse(data.toString()) as { logs?: { message: string }[] };
    messages.push(...logs.map(({ message }) => message));
  });
  await new Promise((resolve, reject) => socket.on("close", resolve).on("error", reject));
  harvest.add("the socket's frames", frames.join("\n"));
  harvest.add("the socket's log", messages.join(""));
}

/** Reads the log over REST in every way: whole, in ranges with every kind of boundary, in pages. */
async function harvestLog(harvest: Harvest, client: Client, token: string, id: string): Promise<void> {
  const get = async (headers: Record<string, string>, search = "") => {
    const url = `${client.url}/api/datachain/jobs/${id}/logs?team_name=main${search}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
    const text = await response.text();
    harvest.add(`the log ${JSON.stringify(headers)} ${search}`, text);
    return text;
  };
  await get({});
  await get({}, "&format=json&limit=10000");
  for (let after = 0, pages = 0; pages < 500; pages++) {
    const page = JSON.parse(await get({}, `&format=json&limit=1&after=${after}`)) as { next: number | null };
    if (page.next === null || page.next === after) break;
    after = page.next;
  }
  // Joins partial reads: a boundary within a secret must not show its halves.
  for (const size of [7, 61]) {
    const parts: string[] = [];
    for (let start = 0; start < 700; start += size) {
      parts.push(await get({ range: `bytes=${start}-${start + size - 1}` }));
    }
    harvest.add(`ranges of ${size} put together`, parts.join(""));
  }
  await get({ range: "bytes=-10" });
}

async function runPlanted(databaseUrl?: string): Promise<void> {
  const gates = await mkdtemp(join(tmpdir(), "millrace-gates-"));
  await chmod(gates, 0o755);
  const env = { MILLRACE_LOG_LEVEL: "trace", MILLRACE_JOB_PATHS: gates };
  const server = await TestServer.start(databaseUrl ? { databaseUrl, env } : { env });
  const harvest = new Harvest();
  const stopWatching = watchArguments(harvest);
  try {
    const [adminToken, viewerToken] = await prepare(server, databaseUrl);
    await setByCommand(server, adminToken, "team-set", `TEAM_VALUE=${planted.team}`);
    await setByCommand(server, adminToken, "own-set", `OWN_VALUE='${planted.own}'`, "--own");
    const client = createClient({ url: server.url, token: adminToken, team: "main" });
    const gate = join(gates, "gate");
    // One set is used by name; the other is the default of a second job.
    await client.call(routes.setDefaultCredentials, { body: { name: "team-set" } });
    const inputs: JobInput[] = [
      shell(script, { environment: `${environment(gate)}\nOWN_VALUE=none` }),
      shell(script, { environment: environment(gate), credentials_name: "own-set" }),
    ];
    const jobs = await Promise.all(inputs.map((input) => createJob(client, input)));
    const following = jobs.map(({ id }) => follow(harvest, server, adminToken, id));
    for (const { id } of jobs) await waitForStatus(client, id, ["RUNNING"]);
    await halfWritten(server, jobs[0]?.id ?? "");
    await harvestLog(harvest, client, adminToken, jobs[0]?.id ?? "");
    await writeFile(`${gate}.half`, "");
    const tokens = await tokensOf(
      server,
      jobs.map(({ id }) => id),
    );
    await harvestFolder(harvest, server.dataDir, true);
    for (const { id } of jobs) await harvestLog(harvest, client, adminToken, id);
    await promisify(execFile)(millrace, ["admin", "rotate-key"], { env: server.settings });
    await writeFile(gate, "");
    for (const { id } of jobs) {
      const job = await waitForEnd(client, id);
      assert.deepEqual([job.status, job.exit_code], ["FAILED", 7]);
      await harvestLog(harvest, client, adminToken, id);
      await harvestPages(harvest, server, viewerToken, id);
      const raw = await readFile(join(server.dataDir, "jobs", `${id}.1`, "log"), "utf8");
      assert.ok(raw.includes(planted.looks) && raw.includes(planted.pem), "the jobs did print them");
      assert.ok(raw.includes(planted.team) || id !== jobs[0]?.id);
    }
    await Promise.all(following);
    // The folder of an attempt is emptied shortly after its end.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await harvestFolder(harvest, server.dataDir, false);
    if (databaseUrl) await harvestDatabase(harvest, databaseUrl);
    await server.stop();
    await harvestFolder(harvest, server.dataDir, false);
    harvest.add("what the server wrote", server.output);
    harvest.assertClean([adminToken, viewerToken, ...tokens]);
  } finally {
    stopWatching();
    await server.dispose();
    await rm(gates, { recursive: true, force: true });
  }
}

/** Creates an administrator's and a viewer's token. */
async function prepare(server: TestServer, databaseUrl = ""): Promise<[string, string]> {
  const store = await openStore(storeIn(server.dataDir, databaseUrl));
  await store.write(async (db) => {
    const row = { username: "vi", first_name: "", last_name: "", is_admin: 0, created_at: new Date().toISOString() };
    await insertMembership(db, 1, (await insertUser(db, row)) ?? 0, "viewer");
  });
  await store.close();
  return [await server.token(), await server.token("--user", "vi")];
}

/** Runs the real command, with values from its standard input. */
async function setByCommand(server: TestServer, token: string, name: string, lines: string, ...flags: string[]) {
  const child = spawn(millrace, ["credentials", "set", name, ...flags], {
    env: {
      ...process.env,
      DATACHAIN_STUDIO_URL: server.url,
      DATACHAIN_STUDIO_TOKEN: token,
      DATACHAIN_STUDIO_TEAM: "main",
    },
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(`${lines}\n`);
  assert.deepEqual(await once(child, "exit"), [0, null]);
}

/** Waits until the first job has written one half of a secret. */
async function halfWritten(server: TestServer, id: string): Promise<void> {
  const half = planted.team.slice(0, 11);
  while (!(await readFile(join(server.dataDir, "jobs", `${id}.1/log`), "utf8").catch(() => "")).endsWith(half)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function tokensOf(server: TestServer, ids: readonly string[]): Promise<string[]> {
  const read = async (id: string) => {
    for (;;) {
      const text = await readFile(join(server.dataDir, "jobs", `${id}.1/work/reversed`), "utf8").catch(() => "");
      if (text.endsWith("\n")) return [...text.trim()].reverse().join("");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const tokens = await Promise.all(ids.map(read));
  for (const token of tokens) assert.match(token, /^isat_job_/);
  return tokens;
}

/** Reads the jobs as a viewer: as JSON, and as pages. */
async function harvestPages(harvest: Harvest, server: TestServer, token: string, id: string): Promise<void> {
  const authorization = `Bearer ${token}`;
  for (const search of ["", `&job_id=${id}&include_steps=true`]) {
    const url = `${server.url}/api/datachain/jobs/?team_name=main${search}`;
    harvest.add(`the jobs ${search}`, await (await fetch(url, { headers: { authorization } })).text());
  }
  const { stdout } = await promisify(execFile)(millrace, ["admin", "link"], { env: server.settings });
  const entry = await fetch(stdout.trim(), { redirect: "manual" });
  const cookie = entry.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  for (const path of ["/", `/team/main/datasets/jobs/${id}`, `/api/datachain/jobs/${id}/logs?team_name=main`]) {
    const response = await fetch(server.url + path, { headers: { cookie } });
    assert.equal(response.status, 200, path);
    harvest.add(path, await response.text());
  }
}

describe("planted values are in no answer, file, argument list or line that the server writes", () => {
  it("with SQLite", () => runPlanted());

  it("with PostgreSQL", async () => {
    const postgres = await startPostgres();
    try {
      await runPlanted(await postgres.createDatabase());
    } finally {
      await postgres.stop();
    }
  });
});
