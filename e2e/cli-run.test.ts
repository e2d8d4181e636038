/** `millrace job run`: its output, exit codes, attachments and errors. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { type Job, routes } from "@millrace/contract";
import { readJob, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { assertFollowed, createdJob, Millrace } from "./support/millrace.ts";

describe("millrace job run", { concurrency: 3 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4", MILLRACE_CANCEL_GRACE: "1" });
  const commandLine = Millrace.useWith(suite);

  test("a complete job ends with 0, with its log on standard output and its statuses on standard error", async () => {
    const cli = await commandLine();
    await cli.write("count.py", 'import sys\nfor i in range(500): print("line", i)\nprint("too", file=sys.stderr)\n');
    const result = await cli.run("job", "run", "count.py");
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i}\n`).join("");
    assertFollowed(result, "COMPLETE", `${lines}too\n`);
    const [, id = "", url] = /^Job (\S+) created: (\S+)\n/.exec(result.stderr) ?? [];
    const job = await readJob(suite.api, id);
    assert.deepEqual([job.name, job.query_type, job.priority, job.url], ["count.py", "PYTHON", 5, url]);
    assert.match(result.stderr, /\nDone in \d+\.\d+s\n$/);
  });

  test("a failed job ends with 1 and says what happened, why and what to do next", async () => {
    const cli = await commandLine();
    await cli.write("broken.py", 'print("before")\nraise ValueError("no such column")\n');
    const result = await cli.run("job", "run", "broken.py");
    assert.equal(result.code, 1);
    assert.match(result.stdout, /^before\nTraceback .*ValueError: no such column\n$/s);
    const id = /^Job (\S+) created/.exec(result.stderr)?.[1];
    assert.ok(
      result.stderr.endsWith(
        "error: The job failed with exit code 1\n  why: ValueError: no such column\n" +
          ` next: millrace job show ${id}, or after fixing the cause: millrace job rerun ${id}\n`,
      ),
      result.stderr,
    );
  });

  test("a cancelled job ends with 2, with the output until then", async () => {
    const cli = await commandLine();
    await cli.write("long.sh", "echo on its way\nsleep 600\n");
    const run = cli.start("job", "run", "long.sh");
    await run.seen(/^on its way$/m);
    const cancel = { params: { job_id: await createdJob(run) }, body: {} };
    await suite.api.call(routes.cancelJob, cancel);
    assertFollowed(await run.ended(), "CANCELED", "on its way\n");
  });

  test("a job's output passes unchanged, also without a line end at the end", async () => {
    const cli = await commandLine();
    await cli.write("odd.sh", String.raw`printf 'ä€😀 \033[31mred\033[0m\r 50%%\r100%%\r\nzero:\000:\n%s' 'the end'`);
    const result = await cli.run("job", "run", "odd.sh");
    assertFollowed(result, "COMPLETE", "ä€😀 \u001b[31mred\u001b[0m\r 50%\r100%\r\nzero:\0:\nthe end");
  });

  test("a script runs under its own name: .py in Python, anything else in a shell or by its first line", async () => {
    const cli = await commandLine();
    await cli.write("which.sh", 'echo "$(basename "$0") in a shell"\n');
    await cli.write("named", '#!/usr/bin/env python3\nprint("python by its first line")\n');
    await cli.write("windows.sh", "echo one\r\necho two\r\n");
    assert.equal(await cli.print("job", "run", "which.sh"), "which.sh in a shell\n");
    assert.equal(await cli.print("job", "run", "named"), "python by its first line\n");
    assert.equal(await cli.print("job", "run", "windows.sh"), "one\ntwo\n");
  });

  test("--no-wait prints only the id and does not wait for the job", async () => {
    const cli = await commandLine();
    const gate = suite.gate("no-wait");
    await cli.write("wait.sh", `${gate.wait}\nexit 3\n`);
    const id = (await cli.print("job", "run", "wait.sh", "--no-wait")).trim();
    await waitForStatus(suite.api, id, ["RUNNING"]);
    await gate.open();
    assert.equal((await waitForEnd(suite.api, id)).exit_code, 3);
    const job = await cli.json<Job>("job", "run", "wait.sh", "--no-wait");
    assert.deepEqual([job.name, job.finished_at], ["wait.sh", null]);
  });

  test("--no-follow waits for the end and prints no log", async () => {
    const cli = await commandLine();
    await cli.write("fail.sh", "echo not shown\nexit 3\n");
    assertFollowed(await cli.run("job", "run", "fail.sh", "--no-follow"), "FAILED", "");
  });

  test("--json prints the ended job instead of its log, with the same exit codes", async () => {
    const cli = await commandLine();
    await cli.write("fail.sh", "echo not shown\nexit 3\n");
    const { code, stdout, stderr } = await cli.run("job", "run", "fail.sh", "--json");
    const job = JSON.parse(stdout) as Job;
    assert.deepEqual([code, job.status, job.exit_code], [1, "FAILED", 3], stderr);
    assert.deepEqual(job, await readJob(suite.api, job.id));
  });

  test("--quiet prints only the log and errors", async () => {
    const cli = await commandLine();
    await cli.write("hello.sh", "echo hello\n");
    const { code, stdout, stderr } = await cli.run("job", "run", "hello.sh", "--quiet");
    assert.deepEqual([code, stdout, stderr], [0, "hello\n", ""]);
    await cli.write("fail.sh", "exit 3\n");
    assert.match((await cli.run("job", "run", "fail.sh", "-q")).stderr, /^error: The job failed with exit code 3\n/);
  });

  test("--files are placed in the job's folder, byte for byte", async () => {
    const cli = await commandLine();
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256));
    await cli.write("data.bin", bytes);
    await cli.write("two words.txt", "with a space\n");
    await cli.write("read.sh", "cat 'two words.txt'\nsha256sum < data.bin\n");
    const files = ["data.bin", cli.path("work/two words.txt")];
    const log = await cli.print("job", "run", "read.sh", "--files", ...files);
    assert.equal(log, `with a space\n${createHash("sha256").update(bytes).digest("hex")}  -\n`);
  });

  test("--env overrides --env-file, and both reach the job unchanged", async () => {
    const cli = await commandLine();
    await cli.write("vars", "# a comment\nONE=from the file\nTWO='quoted value'\n");
    await cli.write("env.sh", 'printf "%s|%s|%s|%s\\n" "$ONE" "$TWO" "$THREE" "$MILLRACE_DATA_DIR"\n');
    const flags = ["--env-file", "vars", "--env", "ONE=from a flag", "THREE=a=b"];
    assert.equal(await cli.print("job", "run", "env.sh", ...flags), "from a flag|quoted value|a=b|\n");
  });

  test("--env-file affects only the job, not the command line itself", async () => {
    const cli = await commandLine();
    await cli.write("vars", "NODE_OPTIONS=--no-such-flag\nDATACHAIN_STUDIO_URL=http://127.0.0.1:1\n");
    await cli.write("env.sh", 'echo "$NODE_OPTIONS $DATACHAIN_STUDIO_URL"\n');
    const log = await cli.print("job", "run", "env.sh", "--env-file", "vars");
    assert.equal(log, "--no-such-flag http://127.0.0.1:1\n");
  });

  test("- reads the script from standard input: Python, or according to its first line or --name", async () => {
    const cli = await commandLine();
    const run = async (script: string, ...flags: string[]) =>
      (await cli.feed(script, "job", "run", "-", ...flags)).stdout;
    assert.equal(await run("print(1 + 1)\n"), "2\n");
    assert.equal(await run('#!/bin/sh\necho "$0"\n'), "./stdin.sh\n");
    assert.equal(await run("#!/usr/bin/env python3\nprint(__file__.split('/')[-1])\n"), "stdin.py\n");
    assert.equal(await run("echo shell\n", "--name", "report.sh"), "shell\n");
    assert.equal((await cli.json<Job[]>("job", "ls", "--name", "report.sh")).length, 1);
  });

  test("--params reach the script and override its metadata, and a rerun may change some of them", async () => {
    const cli = await commandLine();
    const metadata = "# /// script\n# [tools.datachain.params]\n# day = 'monday'\n# kept = 'yes'\n# ///\n";
    const read = "import json, os\nprint(sorted(json.loads(os.environ['DATACHAIN_QUERY_PARAMS']).items()))\n";
    await cli.write("params.py", metadata + read);
    const first = await cli.print("job", "run", "params.py", "--params", "day=friday", '{"limit": 3}');
    assert.equal(first, "[('day', 'friday'), ('kept', 'yes'), ('limit', 3)]\n");
    const [job] = await cli.json<Job[]>("job", "ls", "--name", "params.py");
    const again = await cli.print("job", "rerun", job?.id ?? "", "--params", "limit=4");
    assert.equal(again, "[('day', 'friday'), ('kept', 'yes'), ('limit', '4')]\n");
  });

  test("--workers, --priority, --cluster and --ignore-checkpoints apply to the job", async () => {
    const cli = await commandLine();
    await cli.write("set.sh", "true\n");
    const flags = ["--workers", "2", "--priority", "1", "--cluster", "local", "--ignore-checkpoints"];
    const job = await cli.json<Job>("job", "run", "set.sh", ...flags);
    assert.deepEqual([job.workers, job.priority, job.compute_cluster_name, job.reset], [2, 1, "local", true]);
  });

  test("--start-time and --cron create a task, print its id, and end at once", async () => {
    const cli = await commandLine({ env: { TZ: "Asia/Tokyo" } });
    await cli.write("later.sh", "echo later\n");
    const inADay = Date.now() + 86_400_000;
    const once = await cli.run("job", "run", "later.sh", "--start-time", "2099-01-31T09:00");
    const soon = await cli.run("job", "run", "later.sh", "--start-time", "in 1 day");
    const often = await cli.run("job", "run", "later.sh", "--cron", "30 3 * * *");
    const tasks: Job[] = [];
    for (const { code, stdout, stderr } of [once, soon, often]) {
      const task = await readJob(suite.api, stdout.trim());
      assert.deepEqual([code, stdout, task.status], [0, `${task.id}\n`, "TASK"]);
      assert.equal(stderr, `Task ${task.id} starts at ${task.next_run}\n`);
      assert.match(await cli.print("job", "cancel", task.id), /is canceled\.\n$/);
      tasks.push(task);
    }
    assert.equal(Date.parse(tasks[0]?.start_after ?? ""), Date.parse("2099-01-31T00:00Z"), "in the user's time zone");
    assert.ok(Math.abs(Date.parse(tasks[1]?.start_after ?? "") - inADay) < 30_000);
    assert.match(tasks[2]?.next_run ?? "", /T03:30:00/);
  });

  test("a refusal of the server is shown in its words, with exit code 1 and no job", async () => {
    const cli = await commandLine();
    await cli.write("job.sh", "true\n");
    await cli.write("job.ts", "console.log(1)\n");
    const before = (await suite.api.call(routes.listJobs, { query: { name: "job.sh" } })).length;
    for (const [words, why] of [
      [["job.sh", "--cluster", "moon"], /cluster.*moon/],
      [["job.sh", "--credentials-name", "keys"], /credentials.*"keys"/],
      [["job.sh", "--cron", "every day"], /cron_expression.*every day/],
      [["job.sh", "--workers", "99"], /99/],
      [["job.sh", "--env", "no equals sign"], /environment/],
      [["job.sh", "--team", "others"], /others/],
      [["job.ts"], /no engine runs TYPESCRIPT yet, which is a script whose name ends with \.ts\)/],
    ] as const) {
      assert.match(await cli.refused(1, "job", "run", ...words), why);
    }
    assert.equal((await suite.api.call(routes.listJobs, { query: { name: "job.sh" } })).length, before);
  });

  test("an invalid argument is named, with exit code 64, before anything is sent", async () => {
    const cli = await commandLine({ url: "http://127.0.0.1:1" });
    await cli.write("job.sh", "true\n");
    await cli.write("binary.sh", Buffer.from([0xff, 0xfe, 0]));
    for (const [words, what] of [
      [["missing.py"], /^error: Cannot read missing\.py\n {2}why: ENOENT/],
      [["binary.sh"], /^error: Cannot read binary\.sh\n {2}why: The content is not UTF-8 text/],
      [["job.sh", "--env-file", "missing.env"], /^error: Cannot read missing\.env\n/],
      [["job.sh", "--req-file", "missing.txt"], /^error: Cannot read missing\.txt\n/],
      [["job.sh", "--files", "job.sh", "missing.csv"], /^error: Cannot read missing\.csv\n/],
      [["job.sh", "--start-time", "whenever"], /^error: --start-time: 'whenever' is not a valid time/],
      [["job.sh", "--priority", "9"], /^error: --priority: invalid value '9'\n {2}why: .*from 0 to 5/],
    ] as const) {
      assert.match(await cli.refused(64, "job", "run", ...words), what);
    }
  });
});
