/**
 * Backups and restores are repeatedly killed with -9 while jobs write datasets. Afterwards a backup with its final name
 * is complete, an interrupted one is refused and harmless, and repeating the command succeeds: the real client can read
 * every dataset of that moment.
 *
 * Short form in the test suite; long form: BACKUP_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@millrace/contract";
import { type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { until } from "@millrace/testing/until.ts";
import { assertReadable, dataLoad, listNames, saveDatasets } from "./support/backed-up-datasets.ts";
import { Millrace } from "./support/millrace.ts";

const kills = Number(process.env["BACKUP_KILLS"] ?? 2);

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

describe("killed with -9 in the middle", { skip: await whyNoDatachain() }, () => {
  const commandLine = Millrace.use();
  const servers: TestServer[] = [];
  let postgres: TestPostgres;
  let root: string;
  let cli: Millrace;
  let source: TestServer;
  let token: string;
  before(async () => {
    postgres = await startPostgres();
    root = await mkdtemp(join(tmpdir(), "millrace-crash-backup-"));
    cli = await commandLine();
    source = await startServer();
    token = await source.token();
    const client = createClient({ url: source.url, token, team: "main" });
    await saveDatasets(client, ["before"]);
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

  /** Duration of the command when it is not killed. */
  async function measure(...words: string[]): Promise<number> {
    const begun = performance.now();
    await cli.print(...words);
    return performance.now() - begun;
  }

  /**
   * Kills at a different moment in each round, spread over the whole run. Returns true if the command was still
   * running.
   */
  async function killAt(round: number, whole: number, ...words: string[]): Promise<boolean> {
    const running = cli.start(...words);
    await sleep(whole * ((round + 0.5) / kills) + Math.random() * 50);
    running.kill("SIGKILL");
    return (await running.ended()).code === null;
  }

  test(`a backup killed ${kills} times under load is complete if it has its final name`, {
    timeout: 1_800_000,
  }, async () => {
    const client = createClient({ url: source.url, token, team: "main" });
    const flags = ["--with-key", ...where(source.dataDir)];
    const whole = await measure("backup", join(root, "whole"), ...flags);
    const load = dataLoad(client, "load");
    try {
      for (let round = 0; round < kills; round++) {
        const folder = join(root, `backup-${round}`);
        await killAt(round, whole, "backup", folder, ...flags);
        if (await exists(folder)) await cli.print("backup", "verify", folder);
        // The manifest is written last: a backup that was killed after it is complete, and lacks only its name.
        else if (await exists(join(`${folder}.part`, "manifest.json")))
          await cli.print("backup", "verify", `${folder}.part`);
        else await cli.refused(1, "restore", `${folder}.part`, ...where(join(root, "refused")));
        await rm(`${folder}.part`, { recursive: true, force: true });
      }
      await until("the load has saved something", () => load.lasting.length > 0, 120);
    } finally {
      await load.stop();
    }
    const known = ["before", ...load.lasting];
    await cli.print("backup", join(root, "last"), ...flags);
    await cli.print("backup", "verify", join(root, "last"));
    const beside = await readdir(join(source.dataDir, "team-stores/1"));
    assert.deepEqual(
      beside.filter((name) => name.startsWith("backup-")),
      [],
      "what the killed ones left beside the store is gone",
    );
    const names = await listNames(client);
    for (const name of known) assert.ok(names.includes(name), name);
  });

  for (const store of ["SQLite", "PostgreSQL"] as const)
    test(`a restore into ${store} killed ${kills} times is never used half-done, and the next one succeeds`, {
      timeout: 1_800_000,
    }, async () => {
      const backup = join(root, "last");
      const target = async (name: string) =>
        where(join(root, `${store}-${name}`), store === "PostgreSQL" ? await postgres.createDatabase() : undefined);
      const whole = await measure("restore", backup, ...(await target("whole")));
      for (let round = 0; round < kills; round++) {
        const flags = await target(`killed-${round}`);
        await killAt(round, whole, "restore", backup, ...flags);
        const dataDir = flags[1] as string;
        const isHalf = await exists(join(dataDir, "restore.unfinished"));
        if (isHalf)
          for (const command of [["restore", backup], ["serve"]])
            assert.match(
              await cli.refused(1, ...command, ...flags),
              /was interrupted, so the folder is incomplete\. Delete/,
            );
        await rm(dataDir, { recursive: true, force: true });
      }
      const [, dataDir = "", , databaseUrl] = await target("last");
      await cli.print("restore", backup, ...where(dataDir, databaseUrl));
      const server = await startServer({ dataDir, ...(databaseUrl ? { databaseUrl } : {}) });
      const names = await listNames(createClient({ url: server.url, token, team: "main" }));
      assert.ok(names.includes("before"));
      await assertReadable(server, token, names);
    });
});
