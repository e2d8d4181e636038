/** Datasets in backups: those of that moment, read back by the real client from a restored server. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createClient } from "@millrace/contract";
import { assertReadable, listNames, saveDatasets } from "./support/backed-up-datasets.ts";
import { whyNoDatachain, withLibrary } from "./support/datachain-install.ts";
import { Millrace } from "./support/millrace.ts";
import { startPostgres, type TestPostgres } from "./support/postgres.ts";
import { type ServerOptions, TestServer } from "./support/server.ts";

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

  test("made a moment before are in it, and readable after a restore into SQLite and into PostgreSQL", async () => {
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
});
