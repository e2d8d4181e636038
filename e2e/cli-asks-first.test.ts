/** Commands that destroy or replace data say what they remove and ask; without a terminal they need --yes. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  type Credentials,
  type DatasetCopy,
  type ListedDataset,
  routes,
  type Team,
  type Token,
} from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { recordWarehouse, runWithLibrary } from "@millrace/testing/millrace/warehouse.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { DataFolder } from "../packages/server/src/machine/data-folder.ts";
import { openStore } from "../packages/server/src/store/opening/open-store.ts";
import { Warehouses } from "../packages/server/src/warehouses/warehouses.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const noTerminal =
  /^ *why: The command needs a confirmation, but standard input is not a terminal; nothing was changed$/m;

describe("a command that destroys or replaces", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  before(async () => {
    cli = await commandLine();
  });

  test("credentials rm names the variables that it removes, and needs a yes", async () => {
    const there = async () => (await cli.json<Credentials[]>("credentials", "ls")).map(({ name }) => name);
    await cli.feed("KEY=value\nREGION=here\n", "credentials", "set", "aws");
    const refused = await cli.refused(64, "credentials", "rm", "aws");
    assert.match(refused, /The credentials aws \(KEY, REGION\) will be deleted; jobs that name them will fail/);
    assert.match(refused, noTerminal);
    const answered = await cli.type([["Continue? [y/N]", "maybe\n"]], "credentials", "rm", "aws");
    assert.match(answered.stdout, /Nothing was changed/);
    assert.deepEqual(await there(), ["aws"]);
    const typed = await cli.type([["Continue? [y/N]", "y\n"]], "credentials", "rm", "aws");
    assert.match(typed.stdout, /are deleted/);
    assert.deepEqual(await there(), []);
  });

  test("credentials set replaces values of the same variables, and asks before it removes variables", async () => {
    const set = (text: string, ...flags: string[]) => cli.feed(text, "credentials", "set", "rotated", ...flags);
    assert.equal((await set("KEY=old-value\nREGION=here\n")).code, 0);
    assert.equal((await set("export KEY=new-value\nREGION=there\nMORE=x\n")).code, 0);
    const { code, stderr } = await set("KEY=newest-value\n");
    assert.equal(code, 64);
    assert.match(stderr, /The credentials rotated will no longer contain (REGION, MORE|MORE, REGION)/);
    assert.equal((await set("KEY=newest-value\n", "--yes")).code, 0);
    await cli.print("credentials", "rm", "rotated", "--yes");
  });

  test("dataset rm --force names the versions; a single named version needs no confirmation", async () => {
    const register = () => suite.api.call(routes.registerVersion, { body: { name: "many" } });
    for (let count = 0; count < 3; count++) await register();
    assert.equal(await cli.print("dataset", "rm", "many@1.0.0"), "Version 1.0.0 is removed.\n");
    const refused = await cli.refused(64, "dataset", "rm", "many", "--force");
    assert.match(refused, /All 2 versions of many will be removed, with their rows: 1\.0\.1, 1\.0\.2/);
    assert.match(refused, noTerminal);
    const typed = await cli.type([["Continue? [y/N]", "\n"]], "dataset", "rm", "many", "--force");
    assert.match(typed.stdout, /Nothing was changed/);
    assert.match(await cli.print("dataset", "rm", "many", "--force", "--yes"), /removed/);
  });

  test("team set --max-logs asks if logs would be deleted", async () => {
    await runJob(suite.api, shell("head -c 300000 /dev/urandom | base64"));
    const used = () => suite.api.call(routes.getTeamUsage, { params: { team_name: "main" } });
    await until("the log is counted", async () => (await used()).logs.bytes > 100_000);
    const quota = async () => (await cli.json<Team>("team", "show")).max_log_bytes;
    assert.match(
      await cli.refused(64, "team", "set", "--max-logs", "10KiB"),
      /The team has \S+ KiB of logs: the oldest will be removed until 10 KiB remain/,
    );
    assert.equal(await quota(), null);
    await cli.print("team", "set", "--max-logs", "1GiB");
    await cli.print("team", "set", "--max-logs", "10KiB", "--yes");
    assert.equal(await quota(), 10 * 1024);
  });

  test("schedule delete and token revoke ask on a terminal only, because both can be created again", async () => {
    const { id } = await cli.json<Token>("token", "create", "nightly");
    const kept = await cli.type([["Continue? [y/N]", "n\n"]], "token", "revoke", String(id));
    assert.match(kept.stdout, /The token \d+ 'nightly' of admin, last used never, will be revoked/);
    assert.match(await cli.print("token", "revoke", String(id)), /is revoked/);
    const lineage = await openLineage(suite.server, suite.api);
    await lineage.make("final", shell("echo made", { query_name: "final.sh" }));
    await lineage.close();
    const { name } = await cli.json<{ name: string }>("pipeline", "create", "final");
    await cli.print("schedule", "create", "nightly", name, "--cron", "@daily");
    const asked = await cli.type([["Continue? [y/N]", "n\n"]], "schedule", "delete", "nightly");
    assert.match(asked.stdout, /The schedule nightly and its copy of the pipeline will be deleted; its next run/);
    assert.match(await cli.print("schedule", "delete", "nightly"), /^Deleted schedule nightly/);
  });
});

describe("millrace team restore-datasets", { skip: await whyNoDatachain() }, () => {
  const suite = ClientSuite.use({ MILLRACE_STORE_COPIES: "0" });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  const moment = new Date().toISOString();
  const save = async (name: string) => {
    const { dataDir } = suite.server;
    await runWithLibrary(dataDir, `dc.read_values(n=[1, 2, 3]).save("${name}")`);
    const store = await openStore(storeIn(dataDir));
    await recordWarehouse(store, dataDir);
    await store.close();
  };
  before(async () => {
    cli = await commandLine();
    await save("early");
    const warehouses = new Warehouses(new DataFolder(suite.server.dataDir).warehouses, unconfined);
    await warehouses.copy(1, new Date().toISOString(), 9);
    warehouses.close();
    await save("late");
  });
  const names = async () => (await cli.json<ListedDataset[]>("dataset", "ls")).map(({ name }) => name);
  const copies = () => cli.json<DatasetCopy[]>("team", "dataset-copies");

  test("replaces nothing before a yes, and says what is lost", async () => {
    const refused = await cli.refused(64, "team", "restore-datasets");
    assert.match(refused, /The datasets of the team main will be replaced by its daily copy of 2\S+Z \(\d+s ago\)/);
    assert.match(refused, /Versions created since then will be lost, 1 in total: @admin\.default\.late@1\.0\.0/);
    assert.match(refused, noTerminal);
    assert.match(await cli.print("team", "restore-datasets", "--dry-run"), /late@1\.0\.0/);
    const asked = await cli.type([["Continue? [y/N]", "n\n"]], "team", "restore-datasets");
    assert.match(asked.stdout, /Nothing was changed/);
    assert.deepEqual(await names(), ["early", "late"]);
    assert.deepEqual(
      (await copies()).map(({ kind }) => kind),
      ["daily"],
    );
  });

  test("keeps the replaced warehouse: listed, never chosen automatically, and restored with all its rows", async () => {
    const said = await cli.print("team", "restore-datasets", "--yes");
    const [, kept = ""] = /The replaced warehouse is kept for a while, as the copy of (\S+Z)\./.exec(said) ?? [];
    assert.ok(kept > moment, said);
    assert.deepEqual(await names(), ["early"]);
    assert.deepEqual(
      (await copies()).map(({ kind }) => kind),
      ["replaced", "daily"],
    );
    assert.match(await cli.print("team", "restore-datasets", "--dry-run"), /its daily copy of/);
    await cli.print("team", "restore-datasets", "--copy", kept, "--yes");
    assert.deepEqual(await names(), ["early", "late"]);
    const client = await suite.client();
    const read = 'import datachain as dc; print(sorted(dc.read_dataset("@admin.default.late").to_values("n")))';
    const { stdout, stderr } = await client.script(read);
    assert.match(stdout, /^\[1, 2, 3\]$/m, stderr);
    assert.deepEqual(
      (await copies()).map(({ kind }) => kind),
      ["replaced", "daily"],
      "what was put back is the store, and what it replaced is kept",
    );
  });
});
