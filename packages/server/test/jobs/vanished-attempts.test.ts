/** An attempt whose folder is deleted while it runs: its job ends, and does not run again. */
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("a job whose folder was deleted", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const folderOf = (id: string) => join(server.dataDir, "jobs", `${id}.1`);
  const isFree = async () => (await client.call(routes.listClusters, { query: {} }))[0]?.busy_workers === 0;

  it("is lost, says so, and frees its slot", async () => {
    const { id } = await createJob(client, shell("sleep 1000"));
    await waitForStatus(client, id, ["RUNNING"]);
    await rm(folderOf(id), { recursive: true });
    const job = await waitForEnd(client, id, 60);
    assert.equal(job.status, "FAILED");
    assert.match(job.error_message ?? "", /The job was lost.*deleted/);
    assert.ok(await isFree());
  });

  it("by its own script does not run a second time", async () => {
    const count = join(server.dataDir, "count");
    const { id } = await createJob(
      client,
      shell(`echo ran >> ${count}; rm -rf "${server.dataDir}/jobs/"*; sleep 1000`),
    );
    const job = await waitForEnd(client, id, 60);
    assert.equal(job.status, "FAILED");
    assert.equal(await readFile(count, "utf8"), "ran\n");
  });
});
