/** `millrace serve`: how the server starts, what it refuses, how it stops. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, routes } from "@millrace/contract";
import { createJob, readLog, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { millrace, TestServer } from "@millrace/testing/millrace/server.ts";
import { until } from "@millrace/testing/until.ts";
import type { RunningCommand } from "./support/datachain.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace serve", { concurrency: 2 }, () => {
  const commandLine = Millrace.use();

  const readyAt = async (serve: RunningCommand) => (await serve.seen(/^Millrace is ready at (\S+)\n/m))[1] ?? "";

  async function stop(serve: RunningCommand, signal: "SIGTERM" | "SIGINT" = "SIGTERM"): Promise<void> {
    serve.kill(signal);
    const { code, stderr } = await serve.ended();
    assert.equal(code, 0, stderr);
  }

  /** Waits until the server answers at /readyz, or until it does not. */
  const readiness = (url: string) =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status,
      () => 0,
    );

  test("the first start prints its address, the created user, how to sign in and how to configure the client", async () => {
    const cli = await commandLine();
    const serve = cli.start("serve", "--port", "0", "--data-dir", "store");
    const url = await readyAt(serve);
    assert.equal(await readiness(url), 200);
    await serve.seen(/datachain job run .*\n$/);
    const [ready, ...lines] = serve.stdout.split("\n");
    assert.match(ready ?? "", /^Millrace is ready at http:\/\/127\.0\.0\.1:\d+$/);
    const text = lines.join("\n");
    assert.match(text, /user admin and a team main/);
    assert.ok(text.includes(`  export DATACHAIN_STUDIO_URL=${url}\n`), text);
    assert.ok(text.includes(`  datachain auth login --hostname ${url} --team main\n`), text);
    const link = /^ {2}(http\S+\?link=\S+)$/m.exec(text)?.[1] ?? "";
    assert.equal((await fetch(link, { redirect: "manual" })).status, 303);
    assert.equal((await fetch(link, { redirect: "manual" })).status, 401, "the link works once");
    await stop(serve);

    const again = cli.start("serve", "--port", new URL(url).port, "--data-dir", "store");
    assert.equal(await readyAt(again), url);
    assert.equal(await readiness(url), 200);
    await stop(again);
    assert.match(
      again.stdout,
      /^Millrace is ready at \S+\nTo sign in, run `millrace admin link`.*\n$/,
      "a later start says how to sign in",
    );
    assert.equal(await readiness(url), 0);
  });

  test("settings come from the environment, and flags override them", async () => {
    const cli = await commandLine({ env: { MILLRACE_PORT: "1", MILLRACE_DATA_DIR: "store" } });
    const serve = cli.start("serve", "--port", "0");
    assert.equal(await readiness(await readyAt(serve)), 200);
    assert.ok((await readFile(cli.path("work/store/millrace.db"))).length > 0);
    await stop(serve);
  });

  test("a used port or data folder is a clear error with exit code 1", async () => {
    const cli = await commandLine();
    const serve = cli.start("serve", "--port", "0", "--data-dir", "store");
    const { port } = new URL(await readyAt(serve));
    const samePort = await cli.refused(1, "serve", "--port", port, "--data-dir", "other");
    assert.match(
      samePort,
      /^error: The server could not start\n {2}why: Port \d+ on 127\.0\.0\.1 is already in use.*\n next: .*--port\n$/,
    );
    const sameFolder = await cli.refused(1, "serve", "--port", "0", "--data-dir", "store");
    assert.match(sameFolder, /\n {2}why: Another Millrace server uses the data folder \S+\/store\..*--data-dir/);
    await stop(serve);
  });

  test("an invalid value is refused by the name of its flag or variable, with exit code 64", async () => {
    const cli = await commandLine();
    for (const [flag, value] of [
      ["--port", "abc"],
      ["--port", "70000"],
      ["--database-url", "mysql://localhost"],
    ] as const) {
      assert.match(await cli.refused(64, "serve", flag, value), new RegExp(`\n {2}why: ${flag}: expected `));
    }
    assert.match(await cli.refused(64, "serve", "--port"), /^error: --port needs a value\n/);
    const env = { MILLRACE_MAX_WORKERS: "many" };
    const said = await (await commandLine({ env })).refused(64, "serve", "--port", "0");
    assert.match(said, /\n {2}why: MILLRACE_MAX_WORKERS: expected a whole number .*"many"\n/);
  });

  test("the server waits for an unreachable database, with a line that does not show the password", async () => {
    const server = await TestServer.prepare({ databaseUrl: "postgres://me:secret@127.0.0.1:1/none" });
    const started = assert.rejects(server.start(), /ended before it was ready/);
    while (!server.output.includes("\n")) await sleep(20);
    assert.match(
      server.output,
      /"why":"connect ECONNREFUSED 127\.0\.0\.1:1","msg":"the database is unreachable; the server waits for it/,
    );
    assert.doesNotMatch(server.output, /secret/);
    await server.stop();
    await started;
    await server.dispose();
  });

  test("the server listens beyond loopback only after an administrator has a password, and says what to do", async () => {
    const cli = await commandLine();
    const words = ["serve", "--port", "0", "--data-dir", "store", "--host", "0.0.0.0"];
    const early = await cli.feed("correct horse battery\n", "admin", "password", "--data-dir", "store");
    assert.match(
      early.stderr,
      /There is no database in .*A server creates it at its first start/,
      "the first start makes the store",
    );
    const said = await cli.refused(1, ...words);
    assert.match(
      said,
      /^error: The server could not start\n {2}why: The server will not listen on 0\.0\.0\.0: .* no administrator has a password/,
    );
    assert.match(said, /\n next: Run millrace admin password with /);
    const set = await cli.feed("correct horse battery\n", "admin", "password", "--data-dir", "store");
    assert.deepEqual([set.code, set.stdout], [0, "Set the password of admin\n"], set.stderr);
    const serve = cli.start(...words);
    assert.equal(await readiness(await readyAt(serve)), 200);
    await stop(serve);
  });

  test("an unavailable isolation level is refused, not weakened", async () => {
    const cli = await commandLine({ env: { MILLRACE_ISOLATION: "uid" } });
    // Only the owner may enter the parent of the data folder, so users of jobs could not reach their folders.
    await mkdir(cli.path("closed"), { mode: 0o700 });
    const said = await cli.refused(1, "serve", "--port", "0", "--data-dir", cli.path("closed/store"));
    assert.match(
      said,
      /\n {2}why: MILLRACE_ISOLATION=uid does not work on this machine\. uid: (Jobs cannot reach|The server must)/,
    );
  });

  test("a log that nobody reads does not delay a stop", { timeout: 120_000 }, async (t) => {
    const server = await TestServer.prepare({ env: { MILLRACE_LOG_LEVEL: "debug" } });
    t.after(() => server.dispose());
    const child = spawn(millrace, ["serve"], { env: server.settings, stdio: ["ignore", "pipe", "pipe"] });
    t.after(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    // Each path is in the log: more than a pipe and the buffer can hold.
    for (let i = 0; i < 200; i++) assert.equal((await fetch(`${server.url}/${"x".repeat(10_000)}`)).status, 404);
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });

  test("SIGTERM or Ctrl-C stops the server with 0 and leaves a running job running, which runs once", async () => {
    const cli = await commandLine();
    const shared = cli.path("shared");
    await mkdir(shared);
    await chmod(shared, 0o777);
    const [witness, gate] = [join(shared, "witness"), join(shared, "gate")];
    cli.env["MILLRACE_JOB_PATHS"] = `${shared}:rw`;
    const start = () => cli.start("serve", "--port", "0", "--data-dir", "store");
    const admin = async (url: string) => {
      const token = (await cli.print("admin", "token", "--data-dir", "store")).trim();
      return createClient({ url, token, team: "main" });
    };

    const first = start();
    const before = await admin(await readyAt(first));
    const script = `echo began >> ${witness}\nwhile [ -e ${witness} ] && [ ! -e ${gate} ]; do sleep 0.05; done\necho ended >> ${witness}\n`;
    const { id } = await createJob(before, shell(`${script}echo all of it`));
    await waitForStatus(before, id, ["RUNNING"]);
    await stop(first);
    await writeFile(gate, "");
    await until(
      "the job ends by itself",
      async () => (await readFile(witness, "utf8").catch(() => "")) === "began\nended\n",
    );

    const second = start();
    const after = await admin(await readyAt(second));
    const { status, exit_code } = await waitForEnd(after, id);
    assert.deepEqual([status, exit_code], ["COMPLETE", 0]);
    assert.equal(await readLog(after, id), "all of it\n");
    assert.equal(await readFile(witness, "utf8"), "began\nended\n");
    assert.equal((await after.call(routes.listJobs, { query: {} })).length, 1);
    await stop(second, "SIGINT");
  });
});
