/** Time limits and retries on the command line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job, JobAttempts, Team } from "@millrace/contract";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace job with --timeout and --retries", () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "2" });
  const commandLine = Millrace.useWith(suite);
  const idOf = ({ stderr }: { stderr: string }) => /^Job (\S+) created/m.exec(stderr)?.[1] ?? assert.fail(stderr);

  test("runs a job to its last attempt, lists all attempts, and prints the log of each", async () => {
    const cli = await commandLine();
    await cli.write("fails.sh", "echo tries; exit 3\n");
    const run = await cli.run("job", "run", "fails.sh", "--retries", "2", "--retry-delay", "0", "--timeout", "1h");
    assert.equal(run.code, 1, run.stderr);
    assert.equal(run.stdout.match(/^tries$/gm)?.length, 3);
    assert.match(run.stdout, /^\[millrace\] Attempt 2 failed: .*exit code 3/m);
    const id = idOf(run);
    const shown = await cli.json<Job & JobAttempts>("job", "show", id);
    assert.deepEqual([shown.timeout, shown.retries, shown.retry_delay, shown.retried], [3600, 2, 0, 2]);
    assert.deepEqual(
      shown.attempts.map(({ number, status, exit_code }) => [number, status, exit_code]),
      [1, 2, 3].map((number) => [number, "FAILED", 3]),
    );
    const text = (await cli.run("job", "show", id)).stdout;
    assert.match(text, /attempts\s+1 {2}\S+Z {2}FAILED after .*exit code 3/);
    assert.equal((await cli.run("job", "logs", id, "--attempt", "2")).stdout, "tries\n");
    assert.equal((await cli.run("job", "logs", id, "--attempt", "2", "--tail", "1")).stdout, "tries\n");
    const none = await cli.run("job", "logs", id, "--attempt", "4");
    assert.deepEqual([none.code, /has no attempt 4/.test(none.stderr)], [1, true]);
  });

  test("names the limit that ended a job; a rerun has the same limits", async () => {
    const cli = await commandLine();
    await cli.write("hangs.sh", "sleep 1000\n");
    const run = await cli.run("job", "run", "hangs.sh", "--timeout", "1s");
    assert.equal(run.code, 1);
    assert.match(run.stderr, /The job ran longer than its limit of 1 second\./);
    const again = await cli.run("job", "rerun", idOf(run), "--no-follow");
    assert.match(again.stderr, /The job ran longer than its limit of 1 second\./);
  });

  test("accepts only durations within the server's limits", async () => {
    const cli = await commandLine();
    await cli.write("never.sh", ":\n");
    const wrong = await cli.run("job", "run", "never.sh", "--timeout", "soon");
    assert.match(wrong.stderr, /--timeout: 'soon' is not a duration[\s\S]*such as 10m/);
    const long = await cli.run("job", "run", "never.sh", "--timeout", "31d");
    assert.match(long.stderr, /timeout/);
    assert.ok(wrong.code !== 0 && long.code !== 0);
  });

  test("a team has defaults for jobs that name none", async () => {
    const cli = await commandLine();
    const set = await cli.json<Team>("team", "set", "--job-timeout", "2h", "--job-retries", "1");
    assert.deepEqual([set.job_timeout, set.job_retries, set.job_retry_delay], [7200, 1, null]);
    const shown = (await cli.run("team", "show")).stdout;
    assert.match(shown, /job_timeout\s+2 hours/);
    assert.match(shown, /job_retry_delay\s+30 seconds/);
    const unset = await cli.json<Team>("team", "set", "--job-timeout", "0", "--job-retries", "0");
    assert.deepEqual([unset.job_timeout, unset.job_retries], [null, null]);
  });
});
