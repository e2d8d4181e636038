/** Datasets in backups: the real client reads them back from a restored server. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { createClient } from "@millrace/contract";
import { type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { assertReadable, dataLoad, listNames, saveDatasets } from "./support/backed-up-datasets.ts";
import { Millrace } from "./support/millrace.ts";

describe("datasets in backups", { skip: await whyNoDatachain() }, () => {
  const commandLine = Millrace.use();
  const servers: TestServer[] = [];
  let postgres: TestPostgres;
  let root: string;
  let cli: Millrace;
  before(async () => {
    postgres = await startPostgres();
    root = await mkdtemp(join(tmpdir(), "millrace-backup-datasets-"));
    cli = await commandLine();
  });
  after(async () => {
    await Promise.all(servers.map((server) => server.dispose()));
    await postgres.stop();
    await rm(root, { recursive: true, force: true });
  });

  async function startServer(options: ServerOptions = {}): Promise<TestServer> {
    const server = await TestServer.start({ ...options, env: { ...withLibrary, MILLRACE_LOG_LEVEL: "error" } });
    servers.push(server);
    return server;
  }

  const where = (dataDir: string, databaseUrl?: string) => [
    "--data-dir",
    dataDir,
    ...(databaseUrl ? ["--database-url", databaseUrl] : []),
  ];

  test("created a moment before are in it, and readable after a restore into SQLite and into PostgreSQL", async () => {
    const server = await startServer();
    const token = await server.token();
    const client = createClient({ url: server.url, token, team: "main" });
    await saveDatasets(client, ["first", "second"]);
    const backup = join(root, "backup");
    const taken = await cli.run("backup", backup, "--with-key", ...where(server.dataDir));
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stderr, /^Datasets of the team main: 2 versions as of 2\S+Z$/m);
    const verified = await cli.run("backup", "verify", backup);
    assert.equal(verified.code, 0, verified.stderr);
    for (const databaseUrl of [undefined, await postgres.createDatabase()]) {
      const dataDir = join(root, databaseUrl ? "postgres" : "sqlite");
      const restored = await cli.run("restore", backup, ...where(dataDir, databaseUrl));
      assert.equal(restored.code, 0, restored.stderr);
      assert.match(restored.stderr, /^2 dataset versions of the team main are readable$/m);
      const other = await startServer({ dataDir, ...(databaseUrl ? { databaseUrl } : {}) });
      await assertReadable(other, token, ["first", "second"]);
      const api = createClient({ url: other.url, token, team: "main" });
      await saveDatasets(api, ["third"], "assert dc.read_dataset('first').count() == 5");
      assert.deepEqual(await listNames(api), ["first", "second", "third"]);
    }
  });

  test("under load, while jobs save, remove and rename: each one in the restored registry is readable", async () => {
    const databaseUrl = await postgres.createDatabase();
    const server = await startServer({ databaseUrl });
    const token = await server.token();
    const client = createClient({ url: server.url, token, team: "main" });
    await saveDatasets(client, ["before"]);
    const load = dataLoad(client, "load");
    await until("the load has saved something", () => load.lasting.length > 0, 120);
    const before = ["before", ...load.lasting];
    const backup = join(root, "loaded");
    const taken = await cli.run("backup", backup, "--with-key", ...where(server.dataDir, databaseUrl));
    await load.stop();
    assert.equal(taken.code, 0, taken.stderr);
    const verified = await cli.run("backup", "verify", backup);
    assert.equal(verified.code, 0, verified.stderr);
    const dataDir = join(root, "from-load");
    const restored = await cli.run("restore", backup, "--cancel-queued", ...where(dataDir));
    assert.equal(restored.code, 0, restored.stderr);
    const other = await startServer({ dataDir });
    const names = await listNames(createClient({ url: other.url, token, team: "main" }));
    for (const name of before) assert.ok(names.includes(name), `${name} of that moment is not there`);
    await assertReadable(other, token, names);
  });

  test("verify finds a damaged warehouse in a backup, and a missing version", async () => {
    const copy = join(root, "damaged");
    await cp(join(root, "backup"), copy, { recursive: true });
    const [moment = ""] = await readdir(join(copy, "team-stores/1/copies"));
    const path = join(copy, "team-stores/1/copies", moment, "rows.db");
    const bytes = await readFile(path);
    await writeFile(path, bytes.subarray(0, -1));
    assert.match(await cli.refused(1, "backup", "verify", copy), /rows\.db in the backup is missing or damaged/);
    // The digests match, so that the warehouse itself must be read.
    await writeFile(path, bytes);
    const rows = new DatabaseSync(path);
    rows.exec('drop table "ds_@admin_default_second_1_0_0"');
    rows.close();
    await fitDigests(copy, `team-stores/1/copies/${moment}/rows.db`);
    assert.match(
      (await cli.run("backup", "verify", copy)).stderr,
      /error: The backup is incomplete\n.*One dataset version of the team main is not in its warehouse/,
    );
  });
});

/** As an attacker or a bug of ours would. */
async function fitDigests(folder: string, changed: string): Promise<void> {
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  const list = join(folder, "digests.ndjson.gz");
  const lines = gunzipSync(await readFile(list))
    .toString()
    .trimEnd()
    .split("\n");
  const bytes = await readFile(join(folder, changed));
  const fitted = lines.map((line) => {
    const entry = JSON.parse(line) as { path: string };
    return JSON.stringify(
      entry.path === changed ? { path: changed, size: bytes.length, sha256: sha256(bytes) } : entry,
    );
  });
  const packed = gzipSync(`${fitted.join("\n")}\n`);
  await writeFile(list, packed);
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as { sha256: object };
  const digests = { ...manifest.sha256, digests: sha256(packed) };
  await writeFile(join(folder, "manifest.json"), JSON.stringify({ ...manifest, sha256: digests }));
}
