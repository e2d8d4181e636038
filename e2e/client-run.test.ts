/** `datachain job run`: following, exit codes, and errors. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { routes } from "@millrace/contract";
import { readJob, readLog, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed, assertStatuses, jobIdOf, logOf, statusesOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

describe("datachain job run", { skip, concurrency: 3 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });

  test("a Python job ends with exit code 0, each line of its log once, each status once and in order", async () => {
    const client = await suite.client({ signedInBy: "environment" });
    await client.write(
      "count.py",
      'import sys\nfor i in range(50): print("line", i)\nprint("to stderr", file=sys.stderr)\n',
    );
    const result = await client.run("job", "run", "count.py");
    const lines = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join("");
    assertFollowed(result, "COMPLETE", `${lines}to stderr\n`);
    const id = jobIdOf(result);
    const job = await readJob(suite.api, id);
    assert.deepEqual([job.name, job.query_type, job.exit_code, job.priority], ["count.py", "PYTHON", 0, 5]);
    assert.ok(result.stdout.includes(`Open the job in Studio at ${job.url}\n`));
    assert.equal(job.url, `${suite.server.url}/team/main/datasets/jobs/${id}`);
  });

  test("a file that is not .py runs as a shell script under its own name", async () => {
    const client = await suite.client();
    await client.write("hello.sh", 'echo "hello from $(basename "$0")"\nprintf "no newline at the end"');
    const result = await client.run("job", "run", "hello.sh");
    assertFollowed(result, "COMPLETE", "hello from hello.sh\nno newline at the end");
    assert.equal((await readJob(suite.api, jobIdOf(result))).query_type, "SHELL");
  });

  test("a failed Python job ends with exit code 1 and the traceback in the output", async () => {
    const client = await suite.client();
    await client.write(
      "broken.py",
      'def inner():\n    raise ValueError("what went wrong")\n\nprint("before")\ninner()\n',
    );
    const result = await client.run("job", "run", "broken.py");
    assert.equal(result.code, 1);
    assertStatuses(result.stdout, "FAILED");
    const log = logOf(result.stdout);
    assert.match(log, /^before\nTraceback \(most recent call last\):\n/);
    assert.match(log, /broken\.py", line 2, in inner\n.*\n?ValueError: what went wrong\n$/s);
    const job = await readJob(suite.api, jobIdOf(result));
    assert.equal(job.error_message, "ValueError: what went wrong");
    assert.ok(log.endsWith(`${job.error_stack}\n`), "the stack is the traceback of the log");
  });

  test("a failed shell job ends with exit code 1 and keeps its own exit code", async () => {
    const client = await suite.client();
    await client.write("broken.sh", "echo going down\nexit 7\n");
    const result = await client.run("job", "run", "broken.sh");
    assertFollowed(result, "FAILED", "going down\n");
    assert.equal((await readJob(suite.api, jobIdOf(result))).exit_code, 7);
  });

  test("a job that is cancelled while it is followed ends with exit code 2", async () => {
    const [client, other] = [await suite.client(), await suite.client()];
    await client.write("long.py", 'import time\nprint("started", flush=True)\ntime.sleep(600)\n');
    const run = client.start("job", "run", "long.py");
    await run.seen(/^started$/m);
    const id = jobIdOf(run);
    const cancel = await other.run("job", "cancel", id);
    assert.deepEqual([cancel.code, cancel.stdout], [0, `Job ${id} canceled\n`]);
    const result = await run.ended();
    assert.equal(result.code, 2, result.stderr);
    assertStatuses(result.stdout, "CANCELED");
    assert.match(logOf(result.stdout), /^started\n/);
  });

  test("--no-wait returns as soon as the job is accepted", async () => {
    const client = await suite.client();
    const gate = suite.gate("no-wait");
    await client.write("waits.sh", `${gate.wait}\necho done\n`);
    const result = await client.run("job", "run", "waits.sh", "--no-wait");
    assert.equal(result.code, 0, result.stderr);
    assert.deepEqual(statusesOf(result.stdout), []);
    const id = jobIdOf(result);
    await waitForStatus(suite.api, id, ["RUNNING"]);
    await gate.open();
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
    assert.equal(await readLog(suite.api, id), "done\n");
  });

  test("--no-follow waits for the end and prints statuses but no log", async () => {
    const client = await suite.client();
    await client.write("quiet.sh", "echo nobody sees this\nexit 3\n");
    const result = await client.run("job", "run", "quiet.sh", "--no-follow");
    assertFollowed(result, "FAILED", "");
    assert.equal(await readLog(suite.api, jobIdOf(result)), "nobody sees this\n");
  });

  test("a script that runs again is a rerun of its last job; --ignore-checkpoints requests a reset", async () => {
    const client = await suite.client();
    await client.write("again.sh", "echo again\n");
    const first = await readJob(suite.api, jobIdOf(await client.run("job", "run", "again.sh", "--no-wait")));
    const result = await client.run("job", "run", "again.sh", "--ignore-checkpoints");
    assertFollowed(result, "COMPLETE", "again\n");
    const second = await readJob(suite.api, jobIdOf(result));
    assert.deepEqual([first.rerun_from_job_id, first.run_group_id, first.reset], [null, first.id, false]);
    assert.deepEqual([second.rerun_from_job_id, second.run_group_id, second.reset], [first.id, first.id, true]);
  });

  test("Ctrl-C while following leaves the job running", async () => {
    const client = await suite.client();
    const gate = suite.gate("detached");
    await client.write("stays.sh", `echo first\n${gate.wait}\necho second\n`);
    const run = client.start("job", "run", "stays.sh");
    await run.seen(/^first$/m);
    run.kill("SIGINT");
    assert.notEqual((await run.ended()).code, 0);
    const id = jobIdOf(run);
    assert.equal((await readJob(suite.api, id)).status, "RUNNING");
    await gate.open();
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
    assert.equal(await readLog(suite.api, id), "first\nsecond\n");
  });

  test("a refusal of the server is one line of error, with exit code 1", async () => {
    const client = await suite.client();
    await client.write("never.sh", "echo never\n");
    const before = await suite.api.call(routes.listJobs, { query: { name: "never.sh" } });
    const refusals: [string[], RegExp][] = [
      [["--workers", "99"], /^Error: workers: expected at most 4\b.*99/],
      [["--cluster", "nowhere"], /^Error: compute_cluster_name: expected one of local \(1\), got "nowhere"/],
      [["--credentials-name", "nobody"], /^Error: credentials_name: .*"nobody"/],
      [["--priority", "6"], /^Error: priority: .*6/],
      [["--cron", "every now and then"], /^Error: cron_expression: .*"every now and then"/],
    ];
    for (const [args, message] of refusals) {
      const { code, stdout, stderr } = await client.run("job", "run", "never.sh", ...args);
      assert.deepEqual([code, stdout], [1, ""], args.join(" "));
      assert.match(stderr, message);
      assert.equal(stderr.trimEnd().split("\n").length, 1);
    }
    assert.deepEqual(before, await suite.api.call(routes.listJobs, { query: { name: "never.sh" } }));
  });

  test("an invalid token is reported: 401 with the server's message, 403 with the team", async () => {
    const [unknown, readOnly] = [
      await suite.client({ token: "isat_unknown" }),
      await suite.client({ token: await suite.server.token("--scopes", "JOB:read") }),
    ];
    await unknown.write("never.sh", "echo never\n");
    await readOnly.write("never.sh", "echo never\n");
    const refused = await unknown.run("job", "run", "never.sh");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^Error: The token is unknown, expired or revoked\./);
    const forbidden = await readOnly.run("job", "run", "never.sh");
    assert.deepEqual([forbidden.code, forbidden.stderr], [1, "Error: Not authorized for the team main\n"]);
    const elsewhere = await readOnly.run("job", "ls", "--team", "elsewhere");
    assert.deepEqual([elsewhere.code, elsewhere.stderr], [1, "Error: Not authorized for the team elsewhere\n"]);
  });
});
