/**
 * Commits that succeed although their answer is lost, as when PostgreSQL restarts at that moment. A mock drops the
 * answer, because a real database cannot be stopped at exactly that point.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { StoreUnavailable } from "../../src/store/drivers/unavailable.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("a commit whose answer is lost", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2", MILLRACE_FAULT: "claim-delay:1" });
    client = await server.client();
  });
  after(() => server.dispose());

  /** Drops the answer to the one write that closes this attempt. */
  function loseAnswer(id: string) {
    const store = server.store as { -readonly [K in keyof Store]: Store[K] };
    const write = store.write;
    const isOpen = async () =>
      (await store.db.selectFrom("attempts").selectAll().where("job_id", "=", id).execute()).length > 0;
    store.write = async (work) => {
      const before = await isOpen();
      const answer = await write(work);
      if (!before || (await isOpen())) return answer;
      store.write = write;
      throw new StoreUnavailable("unknown", new Error("Connection terminated unexpectedly"));
    };
  }

  const isPrepared = (id: string) => existsSync(join(server.dataDir, "jobs", `${id}.1`, "plan"));
  const folder = (id: string) => readdirSync(join(server.dataDir, "jobs", `${id}.1`)).sort();
  const unneeded = (id: string) => folder(id).filter((name) => /^(input|work|tmp|plan|group|python)$/.test(name));
  async function untilCleaned(id: string): Promise<void> {
    for (let tries = 0; unneeded(id).length > 0; tries++) {
      assert.ok(tries < 200, `not cleaned: ${unneeded(id)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const ended = async (status: string) =>
    (await (await server.fetch("/metrics")).text())
      .split("\n")
      .filter((line) => line.startsWith("millrace_jobs_ended_total{") && line.includes(`"${status}"`))
      .map((line) => Number(line.split(" ").at(-1)));

  it("accepts the result, counts it once and cleans up the job's folder while the server runs", async () => {
    const { id } = await createJob(client, shell("echo made > file; sleep 1"));
    await waitForStatus(client, id, ["RUNNING"]);
    assert.ok(unneeded(id).length > 0);
    loseAnswer(id);
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
    await untilCleaned(id);
    assert.ok(folder(id).includes("log"), "the log stays");
    assert.deepEqual(await ended("COMPLETE"), [1]);
  });

  it("cancels a job that had not started, and cleans up its folder", async () => {
    const { id } = await createJob(client, shell("echo never"));
    await waitForStatus(client, id, ["INIT"]);
    while (!isPrepared(id)) await new Promise((resolve) => setTimeout(resolve, 10));
    loseAnswer(id);
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(client, id)).status, "CANCELED");
    await untilCleaned(id);
  });

  it("does not touch the folder of a running job whose row is gone until the job has ended", async () => {
    const { id } = await createJob(client, shell("echo made > file; sleep 2; cat file"));
    await waitForStatus(client, id, ["RUNNING"]);
    await server.store.write((db) => db.deleteFrom("attempts").where("job_id", "=", id).execute());
    await untilCleaned(id);
    assert.equal(readFileSync(join(server.dataDir, "jobs", `${id}.1`, "log"), "utf8"), "made\n");
  });
});
