/** Retries and time limits with the unmodified client, which follows one job through all its attempts. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, routes } from "@millrace/contract";
import { readJob, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { warehouseFolder } from "@millrace/testing/millrace/warehouse.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed, jobIdOf } from "./support/client-output.ts";
import { ClientSuite, type Gate } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

const metadata = (timeout: number) => `# /// script
# [tool.millrace]
# timeout = "${timeout}s"
# retries = 1
# retry_delay = "2s"
# ///
`;

/** The first attempt fails because the gate is closed. */
const failing = ({ path }: Gate) => `${metadata(600)}
import os, sys
print("begins")
sys.exit(0 if os.path.exists("${path}") else "closed")
`;

/** Saves one dataset, and hangs in the middle of the next until the gate is open. */
const hanging = ({ path }: Gate, name: string, timeout: number) => `${metadata(timeout)}
import os, time
import datachain as dc

dc.read_values(n=[1, 2, 3]).save("${name}_kept")
print("hangs", flush=True)

def slow(n: int) -> int:
    while not os.path.exists("${path}"):
        time.sleep(0.1)
    return n + 1

dc.read_dataset("${name}_kept").map(m=slow).save("${name}_late")
`;

describe("the client with a retried job", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "4", MILLRACE_CANCEL_GRACE: "1" });

  const untilRetried = async (api: Client, id: string) => {
    for (; (await readJob(api, id)).retried === 0; await sleep(50));
  };
  const versionsOf = async (name: string) => {
    const datasets = await suite.api.call(routes.listDatasets, { query: { prefix: `@admin.default.${name}` } });
    return datasets.flatMap((dataset) => dataset.versions.map(({ version }) => `${dataset.name}@${version}`));
  };

  const statusInStore = (id: string) => {
    const metadata = new DatabaseSync(warehouseFolder(suite.server.dataDir, 1).metadata, { readOnly: true });
    const row = metadata.prepare("select status from jobs where id = ?").get(id);
    metadata.close();
    return row?.["status"];
  };

  test("follows until the last attempt, even if the server is killed with -9, and ends with its exit code", async () => {
    const client = await suite.client();
    const gate = suite.gate("open");
    await client.write("failing.py", failing(gate));
    const run = client.start("job", "run", "failing.py");
    await run.seen(/Attempt 2 is due at/);
    await gate.open();
    await suite.server.restart();
    const result = await run.ended();
    assert.equal(result.code, 0, result.stdout + result.stderr);
    const log = await readLog(suite.api, jobIdOf(result));
    assert.match(
      log,
      /^begins\nclosed\n\[millrace\] Attempt 1 failed: .*\n\[millrace\] Attempt 2 is due at .*\nbegins\n$/,
    );
    assertFollowed(result, "COMPLETE", log);
  });

  test("sees no version of an unfinished dataset of a timed-out attempt; the next attempt creates it, once", async () => {
    const client = await suite.client();
    const gate = suite.gate("hangs");
    await client.write("hanging.py", hanging(gate, "timed", 25));
    const run = client.start("job", "run", "hanging.py");
    await run.seen(/Attempt 1 failed: The job ran longer than its limit of 25 seconds/);
    const [created = assert.fail("no job")] = await suite.api.call(routes.listJobs, { query: { name: "hanging.py" } });
    await untilRetried(suite.api, created.id);
    assert.deepEqual(await versionsOf("timed"), ["timed_kept@1.0.0"]);
    await run.seen(/hangs[\s\S]*hangs/);
    assert.equal(statusInStore(created.id), 4, "the library sees a job that runs, not one that has failed");
    await gate.open();
    const result = await run.ended();
    assert.equal(result.code, 0, result.stdout + result.stderr);
    const versions = await versionsOf("timed");
    assert.equal(versions.filter((name) => name.startsWith("timed_late@")).length, 1, versions.join());
    const made = await suite.api.call(routes.datasetJobVersions, { query: { job_id: created.id } });
    assert.ok(made.dataset_versions.some(({ dataset_name }) => dataset_name === "@admin.default.timed_late"));
  });

  test("sees no version of an unfinished dataset of a cancelled attempt, and no retry", async () => {
    const client = await suite.client();
    const gate = suite.gate("never");
    await client.write("cancelled.py", hanging(gate, "cancelled", 600));
    const run = client.start("job", "run", "cancelled.py");
    await run.seen(/hangs/);
    const [created = assert.fail("no job")] = await suite.api.call(routes.listJobs, {
      query: { name: "cancelled.py" },
    });
    await suite.api.call(routes.cancelJob, { params: { job_id: created.id }, body: {} });
    const job = await waitForEnd(suite.api, created.id);
    assert.deepEqual([job.status, job.retried], ["CANCELED", 0]);
    assert.deepEqual(await versionsOf("cancelled"), ["cancelled_kept@1.0.0"]);
    assert.equal((await run.ended()).code, 2);
  });
});
