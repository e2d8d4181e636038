/** The keeper of Ray jobs, without Ray: the test does to its entrypoint what Ray does. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { readKeeper } from "../../src/engines/ray/ray-package.ts";
import { readRunner } from "../../src/engines/runners/runner-text.ts";

/** Replaces what the runner does; what the keeper uses of it stays. */
const runnerThat = async (does: string) =>
  (await readRunner()).replace(/^def main\(\):\n/m, `$&    import json, subprocess\n${does}\n`);

describe("the keeper of a Ray job", () => {
  let folder: string;
  let jobs: string;
  let counter = 0;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-keeper-"));
    jobs = join(folder, "jobs");
    mkdirSync(jobs);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Starts an entrypoint whose runner does this, with lines of Python. */
  async function start(...lines: readonly string[]) {
    const unpacked = join(folder, `package-${++counter}`);
    mkdirSync(unpacked);
    writeFileSync(join(unpacked, "keeper.py"), await readKeeper());
    writeFileSync(join(unpacked, "runner.py"), await runnerThat(lines.map((line) => `    ${line}`).join("\n")));
    writeFileSync(join(unpacked, "variables.json"), JSON.stringify({ GIVEN: "code", OUT: unpacked }));
    const env = { PATH: process.env["PATH"], RAY_AUTH_TOKEN: "hidden", PYTHONPATH: "/nowhere" };
    const entrypoint = spawn("python3", ["-I", "keeper.py", jobs], { cwd: unpacked, env, stdio: "ignore" });
    return { entrypoint, unpacked, ended: once(entrypoint, "exit") };
  }

  /** Waits until a file of the runner has content, and returns it. */
  async function said(unpacked: string, name: string): Promise<string> {
    const path = join(unpacked, name);
    while (!existsSync(path) || readFileSync(path, "utf8") === "") await pause(5);
    return readFileSync(path, "utf8");
  }
  const isAlive = (pid: string) => {
    try {
      return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  };
  const untilGone = async (...pids: string[]) => {
    while (pids.some(isAlive) || readdirSync(jobs).length > 0) await pause(5);
  };
  const write = (name: string, value: string) => `open(os.environ["OUT"] + "/${name}", "w").write(${value})`;
  const startSleeper = `child = subprocess.Popen(["setsid", "sleep", "1000"])`;

  it("gives the runner its variables and none of Ray's, and deletes them from the disk", async () => {
    const { unpacked, ended } = await start(write("environment", "json.dumps(dict(os.environ))"), "return 7");
    assert.deepEqual(await ended, [7, null]);
    const environment = JSON.parse(await said(unpacked, "environment")) as Record<string, string>;
    assert.equal(environment["GIVEN"], "code");
    assert.equal(environment["RAY_AUTH_TOKEN"], undefined);
    assert.equal(environment["PYTHONPATH"], undefined);
    assert.equal(existsSync(join(unpacked, "variables.json")), false);
  });

  it("deletes the files of the runner, and kills what it left behind", async () => {
    const { unpacked, ended } = await start(
      startSleeper,
      `open(os.environ["MILLRACE_RUNNER_FOLDER"] + "/left", "w").close()`,
      write("pid", "str(child.pid)"),
      "return 0",
    );
    assert.deepEqual(await ended, [0, null]);
    assert.equal(isAlive(await said(unpacked, "pid")), false);
    assert.deepEqual(readdirSync(jobs), []);
  });

  it("does the same if the runner is killed", async () => {
    const { unpacked, ended } = await start(
      startSleeper,
      write("pid", "str(child.pid)"),
      write("runner", "str(os.getpid())"),
      "time.sleep(1000)",
    );
    process.kill(Number(await said(unpacked, "runner")), "SIGKILL");
    assert.deepEqual(await ended, [137, null]);
    assert.equal(isAlive(await said(unpacked, "pid")), false);
    assert.deepEqual(readdirSync(jobs), []);
  });

  it("gives the runner a moment to end when Ray asks, and then kills it", async () => {
    const ending = await start(write("up", "'up'"), "time.sleep(0.5)", write("done", "'done'"), "return 0");
    await said(ending.unpacked, "up");
    ending.entrypoint.kill("SIGTERM");
    assert.deepEqual(await ending.ended, [0, null]);
    assert.equal(await said(ending.unpacked, "done"), "done");
    const busy = await start(startSleeper, write("pid", "str(child.pid)"), "time.sleep(1000)");
    const pid = await said(busy.unpacked, "pid");
    busy.entrypoint.kill("SIGTERM");
    assert.deepEqual(await busy.ended, [137, null]);
    assert.equal(isAlive(pid), false);
  });

  it("lets the job go on if Ray dies: nobody asked for its end", async () => {
    const { entrypoint, unpacked, ended } = await start(
      write("up", "'up'"),
      `exec("while not os.path.exists(os.environ['OUT'] + '/go'): time.sleep(0.01)")`,
      write("done", "str(os.getpid())"),
      "return 0",
    );
    await said(unpacked, "up");
    entrypoint.kill("SIGKILL");
    await ended;
    writeFileSync(join(unpacked, "go"), "");
    await untilGone(await said(unpacked, "done"));
  });

  it("is out of the reach of a KILL to everything that descends from the entrypoint", async () => {
    const { entrypoint, unpacked, ended } = await start(write("pid", "str(os.getpid())"), "time.sleep(1000)");
    const runner = await said(unpacked, "pid");
    assert.deepEqual(childrenOf(entrypoint.pid ?? 0), []);
    entrypoint.kill("SIGTERM");
    await ended;
    await untilGone(runner);
  });
});

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((word) => word !== "");
