/** `millrace job ls`, `logs`, `show`, `cancel`, `rerun` and `clusters`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { type Cluster, type Job, type JobAttempts, routes } from "@millrace/contract";
import {
  createJob,
  python,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { millrace } from "@millrace/testing/millrace/server.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite, type Gate } from "./support/client-suite.ts";
import { assertFollowed, createdJob, Millrace } from "./support/millrace.ts";

const unknownId = "00000000-0000-4000-8000-000000000000";

describe("millrace job", { concurrency: 3 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "8", MILLRACE_CANCEL_GRACE: "1" });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let complete: Job;
  let failed: Job;
  let running: Job;
  let gate: Gate;
  /** Not UTF-8, with NUL bytes, without a line end at the end. */
  const bytes = Buffer.from([0xff, 0x00, 0x0a, 0xc3, 0x28, 0x0d, 0x0a, 0x6f, 0x6e, 0x65, 0x0a, 0x74, 0x77, 0x6f]);

  before(async () => {
    cli = await commandLine();
    gate = suite.gate("running");
    const write = `import sys\nsys.stdout.buffer.write(bytes(${JSON.stringify([...bytes])}))\n`;
    complete = (await runJob(suite.api, python(write, { query_name: "tab\there.py" }))).job;
    failed = (await runJob(suite.api, shell("echo oh; exit 3", { query_name: "bad.sh", priority: 2 }))).job;
    running = await createJob(
      suite.api,
      shell(`echo first\necho second\n${gate.wait}\necho third`, { query_name: "long.sh" }),
    );
    await until("the job writes", async () => (await readLog(suite.api, running.id)) === "first\nsecond\n");
    await waitForStatus(suite.api, running.id, ["RUNNING"]);
  });

  const listed = async (...flags: string[]) => {
    const jobs = await cli.json<Job[]>("job", "ls", ...flags);
    return jobs.map(({ id }) => id);
  };

  test("why explains what a job waits for", async () => {
    assert.equal(await cli.print("job", "why", failed.id), "The job does not wait: it is FAILED.\n");
    const { id } = await createJob(suite.api, shell("exit 1", { retries: 1, retry_delay: 600 }));
    const wait = () => suite.api.call(routes.getJobWait, { params: { job_id: id }, query: {} });
    await until("the job waits for its retry", async () => (await wait()).until !== null);
    const said = await cli.print("job", "why", id);
    assert.match(said, /waits for the delay before its next attempt\.\nEarliest start: \d{4}-.*\nSlots of local: \d/);
    assert.deepEqual(await cli.json("job", "why", id), await wait());
    await cli.print("job", "cancel", id);
  });

  test("ls --json prints the API's answer, newest first", async () => {
    const query = { name: "bad.sh" };
    assert.deepEqual(await cli.json("job", "ls", "--name", "bad.sh"), await suite.api.call(routes.listJobs, { query }));
    const jobs = await cli.json<Job[]>("job", "ls", "--limit", "1000");
    assert.ok(jobs.length >= 3);
    const times = jobs.map(({ created_at }) => created_at);
    assert.deepEqual(times, times.toSorted().toReversed());
  });

  test("ls filters by status in any letter case, name, user and number", async () => {
    assert.deepEqual(await listed("--name", "bad.sh", "--status", "failed"), [failed.id]);
    assert.deepEqual(await listed("--name", "bad.sh", "--status", "Complete"), []);
    assert.deepEqual(await listed("--name", "long.sh", "--status", "active"), [running.id]);
    assert.deepEqual(await listed("--name", "long.sh", "--status", "inactive"), []);
    assert.deepEqual(await listed("--created-by", "nobody"), []);
    assert.ok((await listed("--created-by", "admin", "--limit", "1000")).includes(failed.id));
    assert.equal((await listed("--limit", "1")).length, 1);
    assert.match(await cli.refused(1, "job", "ls", "--status", "sleepy"), /status: .*RUNNING.*"SLEEPY"/);
    assert.match(await cli.refused(64, "job", "ls", "--limit", "0"), /^error: --limit: invalid value '0'/);
  });

  test("ls in a pipe prints full values separated by tabs, one job per line, without titles or colours", async () => {
    const { id, created_at, started_at } = complete;
    const [line = "", ...rest] = (await cli.print("job", "ls", "--name", "tab\there.py")).split("\n");
    assert.deepEqual(rest, [""]);
    const fields = line.split("\t");
    assert.deepEqual(fields.toSpliced(5, 1), [id, "tab\\there.py", "COMPLETE", created_at, started_at, "admin"]);
    const took = Date.parse(complete.finished_at ?? "") - Date.parse(started_at ?? "");
    assert.equal(Number(fields[5]), took / 1000);
  });

  test("ls --extended adds the cluster and the stages", async () => {
    const fields = (await cli.print("job", "ls", "-e", "--name", "bad.sh", "--status", "FAILED")).trim().split("\t");
    assert.equal(fields[7], "local");
    assert.match(fields[8] ?? "", /^\S.* \d+\.\d+s$/);
  });

  test("ls without results prints nothing, and says so on standard error", async () => {
    const { code, stdout, stderr } = await cli.run("job", "ls", "--name", "none");
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^No jobs found/);
    assert.deepEqual(await cli.json("job", "ls", "--name", "none"), []);
  });

  test("logs of an ended job prints its log and has its exit code", async () => {
    assertFollowed(await cli.run("job", "logs", failed.id), "FAILED", "oh\n");
    assertFollowed(await cli.run("job", "logs", complete.id), "COMPLETE", bytes.toString("utf8"));
  });

  test("logs --no-follow prints the bytes of the log unchanged, and ends with 0", async () => {
    assert.deepEqual(await cli.bytes("job", "logs", complete.id, "--no-follow"), bytes);
    assert.equal(await cli.print("job", "logs", failed.id, "--no-follow"), "oh\n");
    assert.equal(await cli.print("job", "logs", running.id, "--no-follow"), "first\nsecond\n");
  });

  test("logs --tail starts with the last lines", async () => {
    const tail = (lines: number) => cli.print("job", "logs", complete.id, "--tail", String(lines));
    const tailBytes = (lines: number) => cli.bytes("job", "logs", complete.id, "--no-follow", "--tail", String(lines));
    assert.equal(await tail(0), "");
    assert.equal(await tail(1), "two");
    assert.equal(await tail(2), "one\ntwo");
    assert.deepEqual(await tailBytes(3), bytes.subarray(3));
    assert.deepEqual(await tailBytes(99), bytes);
    assert.equal(await cli.print("job", "logs", running.id, "--no-follow", "--tail", "1"), "second\n");
  });

  test("logs of a running job follows it to its end, from the start or from its last lines", async () => {
    const own = suite.gate("followed");
    const { id } = await createJob(suite.api, shell(`echo one\necho two\n${own.wait}\necho three`));
    await waitForStatus(suite.api, id, ["RUNNING"]);
    const all = cli.start("job", "logs", id);
    await all.seen(/^two$/m);
    const last = cli.start("job", "logs", id, "--tail", "1");
    await last.seen(/^two$/m);
    await own.open();
    assertFollowed(await all.ended(), "COMPLETE", "one\ntwo\nthree\n");
    assertFollowed(await last.ended(), "COMPLETE", "two\nthree\n");
  });

  test("logs into a closed pipe ends quietly", async () => {
    const { job } = await runJob(suite.api, shell("seq 200000"));
    const line = `"${millrace}" job logs --quiet ${job.id} | head -n 2; echo "code $PIPESTATUS"`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", line], { env: cli.env });
    assert.deepEqual([stdout, stderr], ["1\n2\ncode 141\n", ""]);
  });

  test("show prints every field that has a value, in a pipe one per line", async () => {
    const lines = (await cli.print("job", "show", failed.id)).trimEnd().split("\n");
    const fields = Object.fromEntries(lines.map((line) => line.split("\t")));
    const { id, url, run_group_id } = failed;
    const expected = { id, url, run_group_id, status: "FAILED", exit_code: "3", priority: "2", name: "bad.sh" };
    assert.deepEqual({ ...fields, ...expected }, fields);
    assert.equal(fields["query"], "echo oh; exit 3");
    assert.ok(!("cron_expression" in fields), "what is empty is left out");
    const { attempts, ...job } = await cli.json<Job & JobAttempts>("job", "show", failed.id);
    assert.deepEqual(job, { ...(await readJob(suite.api, failed.id)), next_attempt_at: null, waits_for: null });
    assert.deepEqual([attempts.length, attempts[0]?.exit_code], [1, 3]);
    assert.ok(!("attempts" in fields), "a job that was tried once is its only attempt");
  });

  test("a job is found by the beginning or the end of its id; a terminal shows the end", async () => {
    // The first part of an id is its time, which two jobs of one moment share.
    for (const part of [failed.id.slice(0, 23).toUpperCase(), failed.id.slice(-8)])
      assert.equal((await cli.json<Job>("job", "show", part)).id, failed.id);
    const { stdout } = await cli.type([], "job", "ls");
    assert.match(stdout, new RegExp(`^${failed.id.slice(-8)} +bad\\.sh`, "m"));
    assert.ok(!stdout.includes(failed.id));
  });

  test("an ambiguous part of an id is an error that lists the jobs; an unknown one is named", async () => {
    const said = await cli.refused(1, "job", "show", failed.id.slice(0, 6));
    assert.match(said, new RegExp(`'${failed.id.slice(0, 6)}' is the beginning or the end of \\d+ job ids`));
    assert.match(said, new RegExp(`${failed.id.slice(-8)} {2}${failed.id} {2}bad\\.sh`));
    assert.match(await cli.refused(64, "job", "show", "abc"), /'abc' is not a job id\n.*at least 6 characters/);
    assert.match(await cli.refused(1, "job", "show", "ffffff"), /No job id begins or ends with 'ffffff'/);
    for (const command of ["show", "logs", "cancel", "rerun"]) {
      assert.match(await cli.refused(1, "job", command, unknownId), new RegExp(unknownId), command);
    }
    assert.match(await cli.refused(1, "job", "logs", "--no-follow", unknownId), new RegExp(unknownId));
    assert.doesNotMatch(await cli.refused(1, "job", "logs", unknownId), /Job is/, "what is not there has no status");
  });

  test("cancel stops a running job, and is an error for an ended one", async () => {
    const { id } = await createJob(suite.api, shell("trap '' TERM; echo stubborn; sleep 600"));
    await waitForStatus(suite.api, id, ["RUNNING"]);
    assert.equal(await cli.print("job", "cancel", id), `Job ${id} is being canceled.\n`);
    assert.equal((await waitForEnd(suite.api, id)).status, "CANCELED");
    assert.match(await cli.refused(1, "job", "cancel", id), /^error: This is not possible now\n.*is CANCELED/);
  });

  test("rerun runs the same job again, in the same run group, with the same settings", async () => {
    await cli.write("again.sh", 'printf "%s" "$TEXT"; cat data.txt\n');
    await cli.write("data.txt", ", taken along\n");
    const text = String.raw`say "so" # and \n`;
    const flags = ["--env", `TEXT='${text}'`, "--priority", "1", "--files", "data.txt"];
    const first = await cli.json<Job>("job", "run", "again.sh", ...flags);
    const rerun = cli.start("job", "rerun", first.id);
    assertFollowed(await rerun.ended(), "COMPLETE", `${text}, taken along\n`);
    const second = await readJob(suite.api, await createdJob(rerun));
    assert.notEqual(second.id, first.id);
    assert.deepEqual([second.rerun_from_job_id, second.run_group_id], [first.id, first.run_group_id]);
    const settings = ({ name, query, priority, environment }: Job) => [name, query, priority, environment];
    assert.deepEqual(settings(second), settings(first));
    const third = await cli.json<Job>("job", "rerun", second.id, "--ignore-checkpoints");
    assert.deepEqual([third.run_group_id, third.reset, third.status], [first.run_group_id, true, "COMPLETE"]);
    const id = (await cli.print("job", "rerun", first.id, "--no-wait")).trim();
    assert.equal((await waitForEnd(suite.api, id)).run_group_id, first.run_group_id);
  });

  test("clusters prints each with its slots, and with --json the API's answer", async () => {
    const [answer] = await suite.api.call(routes.listClusters, { query: {} });
    const fields = (await cli.print("job", "clusters")).trimEnd().split("\t");
    const expected = ["1", "local", "ACTIVE", "local", "-", "-", answer?.isolation, "yes"];
    assert.deepEqual(fields.toSpliced(7, 1), expected);
    assert.match(fields[7] ?? "", /^\d\/8\/8$/);
    const [cluster] = await cli.json<Cluster[]>("job", "clusters");
    // Jobs of the other tests run beside this one.
    const changing = { busy_workers: 0, waiting_jobs: 0 };
    assert.deepEqual({ ...cluster, ...changing }, { ...answer, ...changing });
  });
});
