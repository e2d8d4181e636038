/** `datachain job logs` and `job cancel`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createJob, readJob, runJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertStatuses, logOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();
const unknownId = "00000000-0000-4000-8000-000000000000";

describe("datachain job logs and cancel", { skip, concurrency: 3 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });

  test("logs of a finished job prints its log and its status, and has its exit code", async () => {
    const client = await suite.client();
    const { job } = await runJob(suite.api, shell("echo nearly\nexit 3"));
    const { code, stdout } = await client.run("job", "logs", job.id);
    assert.equal(code, 1);
    assertStatuses(stdout, "FAILED");
    assert.equal(logOf(stdout), "nearly\n");
  });

  test("logs of a running job starts at the beginning and follows to the end", async () => {
    const client = await suite.client();
    const gate = suite.gate("followed");
    const { id } = await createJob(suite.api, shell(`echo first\n${gate.wait}\necho last`));
    await waitForStatus(suite.api, id, ["RUNNING"]);
    const logs = client.start("job", "logs", id);
    await logs.seen(/^first$/m);
    assert.doesNotMatch(logs.stdout, /^last$/m);
    await gate.open();
    const { code, stdout } = await logs.ended();
    assert.equal(code, 0);
    assertStatuses(stdout, "COMPLETE");
    assert.equal(logOf(stdout), "first\nlast\n");
  });

  test("logs of an unknown job, or of another team, ends with an error at once", async () => {
    const client = await suite.client();
    const unknown = await client.run("job", "logs", unknownId);
    assert.deepEqual([unknown.code, unknown.stderr], [1, `Error: There is no job ${unknownId} in the team main.\n`]);
    const elsewhere = await client.run("job", "logs", unknownId, "--team", "elsewhere");
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.stderr, /refused the log stream connection \(HTTP 403\).*team name \(elsewhere\)/);
  });

  test("cancel ends a running job; a finished one is refused with its state", async () => {
    const client = await suite.client();
    const { job: complete } = await runJob(suite.api, shell("echo done"));
    const { id } = await createJob(suite.api, shell("sleep 600"));
    await waitForStatus(suite.api, id, ["RUNNING"]);
    const { code, stdout } = await client.run("job", "cancel", id);
    assert.deepEqual([code, stdout], [0, `Job ${id} canceled\n`]);
    assert.equal((await waitForEnd(suite.api, id)).status, "CANCELED");
    const late = await client.run("job", "cancel", complete.id);
    assert.equal(late.code, 1);
    assert.match(late.stderr, new RegExp(`^Error: Job ${complete.id} is COMPLETE`));
    assert.equal((await readJob(suite.api, complete.id)).status, "COMPLETE");
    const unknown = await client.run("job", "cancel", unknownId);
    assert.deepEqual([unknown.code, unknown.stderr], [1, `Error: There is no job ${unknownId} in the team main.\n`]);
  });
});
