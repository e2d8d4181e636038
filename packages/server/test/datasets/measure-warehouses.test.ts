/**
 * What a job is charged for its team's warehouse. Sizes come from a mock, because a real warehouse cannot shrink on
 * demand.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, beforeEach, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Client } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import type { Attempt, Engine } from "../../src/engines/engine.ts";
import { Engines } from "../../src/engines/registry.ts";
import { WarehouseMeasures } from "../../src/execution/measure-warehouses.ts";
import { openAttempt } from "../../src/store/queries/jobs/attempts.ts";
import { usageOf } from "../../src/store/queries/people/team-usage.ts";
import type { Warehouses } from "../../src/warehouses/warehouses.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { noQuotas } from "../support/quotas.ts";

const mebibyte = 1024 ** 2;

describe("the measured size of a team's warehouse", () => {
  let server: InProcessServer;
  let client: Client;
  let bytes: () => Promise<number>;
  let measures: WarehouseMeasures;
  const ended: string[] = [];
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());
  beforeEach(async () => {
    await server.store.write((db) => db.deleteFrom("attempts").execute());
  });

  const serverId = "a data folder of its own: the server's own loops measure nothing here";
  const open = (quota: number) => {
    const engine = { end: async ({ key }: Attempt) => void ended.push(key) } as unknown as Engine;
    const engines = new Engines([[1, engine]]);
    const warehouses = { bytes: () => bytes() } as unknown as Warehouses;
    const quotas = { ...noQuotas, datasets: quota };
    measures = new WarehouseMeasures({ store: server.store, engines, warehouses, serverId, quotas });
  };

  /** Inserts the rows of a job that uses the team's warehouse; no process is needed. */
  async function working(): Promise<string> {
    const { job } = await runJob(client, shell("true"));
    const at = { created_at: job.created_at, signalled_at: null };
    const held = { cluster_id: 1, slots: 1, server_id: serverId, boot_id: "b", ...at };
    await server.store.write(async (db) => {
      await db.updateTable("jobs").set({ steps: '[{"name":"datasets"}]' }).where("id", "=", job.id).execute();
      await openAttempt(db, { job_id: job.id, team_id: 1, attempt: 2, ...held });
    });
    return job.id;
  }
  const charged = async (id: string) =>
    (await server.store.db.selectFrom("attempts").selectAll().where("job_id", "=", id).executeTakeFirstOrThrow())
      .store_bytes / mebibyte;
  async function measure(...sizes: number[]): Promise<void> {
    for (const size of sizes) {
      bytes = async () => size * mebibyte;
      await measures.measure(1);
    }
  }

  it("temporary files are charged once; what a job adds is charged in full", async () => {
    open(0);
    await measure(100);
    const job = await working();
    await measure(...Array.from({ length: 50 }, () => [104, 100]).flat());
    assert.equal(await charged(job), 4);
    await measure(140, 90, 150);
    assert.equal(await charged(job), 50);
  });

  it("a temporary size over quota kills no job", async () => {
    open(102 * mebibyte);
    await measure(104);
    const job = await working();
    await measure(100, 104, 100, 104);
    assert.deepEqual(ended, []);
    await measure(105);
    assert.deepEqual(ended, [`${job}.2`]);
  });

  it("a size that cannot be measured changes neither the team's usage nor the charges of jobs", async () => {
    open(0);
    await measure(300);
    const job = await working();
    await measure(301);
    bytes = () => Promise.reject(new Error("no free process"));
    await assert.rejects(measures.measure(1), /no free process/);
    assert.equal((await usageOf(server.store.db, 1)).datasets, 301 * mebibyte);
    await measure(301);
    assert.equal(await charged(job), 1);
  });

  it("the later of two concurrent measurements counts", async () => {
    open(0);
    const first = Promise.withResolvers<number>();
    const sizes = [() => first.promise, async () => 200 * mebibyte];
    let calls = 0;
    bytes = () => (sizes[calls++] ?? sizes[0])?.() ?? Promise.resolve(0);
    const both = [measures.measure(1), measures.measure(1)];
    await new Promise((resolve) => setTimeout(resolve, 100));
    await measures.measureIfDue(1);
    assert.equal(calls, 1, "the others wait for the first, or leave it at that");
    first.resolve(100 * mebibyte);
    await Promise.all(both);
    assert.equal((await usageOf(server.store.db, 1)).datasets, 200 * mebibyte);
  });
});

it("a measurement returns a size or fails: a server without a free file descriptor does not report a folder as empty", async () => {
  const script = `
    import { openSync } from "node:fs";
    import { diskUsage } from "${new URL("../../src/engines/disk-usage.ts", import.meta.url)}";
    const sizes = await diskUsage(["/nowhere/at/all"]);
    try { for (;;) openSync("/dev/null"); } catch {}
    console.log(sizes, await diskUsage(["/usr/bin"]).catch(({ code }) => code));`;
  const words = ["-c", 'ulimit -n 60; exec "$@"', "sh", process.execPath, "--input-type=module", "-e", script];
  assert.equal((await promisify(execFile)("sh", words)).stdout, "0 EMFILE\n");
});
