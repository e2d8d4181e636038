/** What a runner measures, and which limits it enforces. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { totalmem } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { JobSpec } from "../../../src/engines/engine.ts";
import type { RemoteLimits } from "../../../src/engines/limit-words.ts";
import { markedProcesses } from "../remote/marked-processes.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

const mebibyte = 1024 * 1024;
const none: RemoteLimits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };

describe("the limits of a runner", () => {
  let ground: RunnerGround;
  before(async () => {
    ground = await runnerGround();
  });
  after(() => ground.stop());

  async function endOf(limits: Partial<RemoteLimits>, query: string, rest: Partial<JobSpec> = {}) {
    const engine = await ground.open({ limits: { ...none, ...limits } });
    const job = ground.spec(query, rest);
    await engine.submit(job);
    const watching = setInterval(() => void engine.watch(job.key), 200);
    const { exit, overLimit } = await untilState(engine, job.key, "EXITED");
    clearInterval(watching);
    assert.deepEqual(markedProcesses(job.key, "MILLRACE_ATTEMPT").pids, []);
    return { code: exit.code, overLimit };
  }
  const over = (what: string) => ({
    code: 137,
    overLimit: `The job was ended because it exceeded its limit of ${what}).`,
  });

  it("end a job that uses too much memory", async () => {
    const query = "import time\nkept = bytearray(200 * 1024 * 1024)\ntime.sleep(1000)";
    const limits = { memory: 100 * mebibyte };
    assert.deepEqual(
      await endOf(limits, query, { queryType: "PYTHON", name: "job.py" }),
      over("100 MiB of memory (server setting MILLRACE_JOB_MEMORY"),
    );
  });

  it("count the memory of a process that forbids an ordinary user to look at it", () => {
    const script = `import ctypes, encodings.latin_1, os, sys, time
runner = {"__name__": "runner"}
exec(open(sys.argv[1], encoding="utf-8").read(), runner)
if os.getuid() == 0:
    os.setuid(65534)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    kept = bytearray(80 * 1024 * 1024)
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    os.write(writer, b"x")
    time.sleep(60)
    os._exit(0)
os.read(reader, 1)
print(runner["proportional"](child))
os.kill(child, 9)
`;
    const runner = join(import.meta.dirname, "../../../src/engines/runners/runner.py");
    const memory = Number(execFileSync("python3", ["-c", script, runner], { encoding: "utf8" }));
    assert.ok(memory >= 80 * mebibyte, `${memory} bytes`);
  });

  it("take a percentage as one of the memory of the runner's machine", async () => {
    const [python, wanted] = [{ queryType: "PYTHON", name: "job.py" } as const, Math.ceil(totalmem() / 100 + 1)];
    const query = `import time\nkept = bytearray(${wanted})\ntime.sleep(1000)`;
    assert.deepEqual(
      await endOf({ memory: "1%" }, query, python),
      over("1% of its machine's memory (server setting MILLRACE_JOB_MEMORY"),
    );
  });

  it("count memory once that processes share", async () => {
    const query = `import os, time
kept = bytearray(60 * 1024 * 1024)
for child in range(5):
    if os.fork() == 0:
        time.sleep(3)
        os._exit(0)
for child in range(5):
    os.wait()
raise SystemExit(7)`;
    const limits = { memory: 200 * mebibyte };
    const end = await endOf(limits, query, { queryType: "PYTHON", name: "job.py" });
    assert.deepEqual(end, { code: 7, overLimit: null });
  });

  it("count the threads of a process", async () => {
    const query = `import threading, time
for thread in range(9):
    threading.Thread(target=time.sleep, args=(1000,)).start()`;
    assert.deepEqual(
      await endOf({ processes: 6 }, query, { queryType: "PYTHON", name: "job.py" }),
      over("6 processes (server setting MILLRACE_JOB_PROCESSES"),
    );
  });

  it("do not count the log as disk", async () => {
    const limits = { disk: mebibyte, log: 500 * mebibyte };
    assert.deepEqual(await endOf(limits, "head -c 9000000 /dev/zero; sleep 4; exit 8"), { code: 8, overLimit: null });
  });

  it("end a job that has too many processes, also ones that have detached themselves", async () => {
    const query = "for i in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; sleep 1000";
    assert.deepEqual(await endOf({ processes: 5 }, query), over("5 processes (server setting MILLRACE_JOB_PROCESSES"));
  });

  it("end a job that fills the disk, or its log, or runs too long", async () => {
    const disk = "head -c 30000000 /dev/zero > file; sleep 1000";
    assert.deepEqual(
      await endOf({ disk: 10 * mebibyte }, disk),
      over("10 MiB in its folders (server setting MILLRACE_JOB_DISK"),
    );
    assert.deepEqual(
      await endOf({ log: mebibyte }, "head -c 3000000 /dev/zero; sleep 1000"),
      over("1 MiB of log (server setting MILLRACE_JOB_LOG"),
    );
    assert.deepEqual(await endOf({ seconds: 1 }, "sleep 1000"), over("1 seconds (server setting MILLRACE_JOB_SECONDS"));
  });

  /** What a job may do, also by mistake (`rm -rf /tmp/*`), to the file that holds its log on the node. */
  for (const [what, does] of [
    ["removes its log", 'rm "$(readlink /proc/$$/fd/1)"'],
    [
      "puts a large file in the place of its log",
      'rm "$(readlink /proc/$$/fd/1)"; head -c 30000000 /dev/zero > ../log',
    ],
    ["removes all of its runner's files", 'rm -rf "$(dirname "$(readlink /proc/$$/fd/1)")"'],
  ] as const) {
    it(`hold for a job that ${what}`, async () => {
      const crowd = `${does}; for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; sleep 1000`;
      const large = `${does}; cd /; head -c 3000000 /dev/zero; sleep 1000`;
      const [tasks, log] = await Promise.all([endOf({ processes: 5 }, crowd), endOf({ log: mebibyte }, large)]);
      assert.deepEqual(tasks, over("5 processes (server setting MILLRACE_JOB_PROCESSES"));
      assert.deepEqual(log, over("1 MiB of log (server setting MILLRACE_JOB_LOG"));
    });

    it(`leave the exit code and the log to a job that ${what}`, async () => {
      const job = ground.spec(`echo before; ${does}; echo after; exit 6`);
      await ground.engine.submit(job);
      assert.equal((await untilState(ground.engine, job.key, "EXITED")).exit.code, 6);
      assert.equal(String(await ground.log(job.key)), "before\nafter\n");
    });
  }

  it("count files that are called like the log, and those below a thousand folders", async () => {
    const files = [
      'rm "$(readlink /proc/$$/fd/1)"; head -c 30000000 /dev/zero > ../log; sleep 1000',
      "path=$(printf 'd/%.0s' $(seq 1100)); mkdir -p $path; head -c 30000000 /dev/zero > $path/file; sleep 1000",
    ];
    for (const end of await Promise.all(files.map((query) => endOf({ disk: 10 * mebibyte }, query))))
      assert.deepEqual(end, over("10 MiB in its folders (server setting MILLRACE_JOB_DISK"));
  });

  it("leave a job alone that keeps them", async () => {
    const limits = { memory: 500 * mebibyte, processes: 50, disk: 100 * mebibyte, log: mebibyte, seconds: 500 };
    assert.deepEqual(await endOf(limits, "sleep 2; exit 6"), { code: 6, overLimit: null });
  });

  it("come with samples of what the job uses, which the engine keeps", async () => {
    const { engine } = ground;
    const query = "import time\nkept = bytearray(60_000_000)\nbegan = time.time()\nwhile time.time() < began + 7: pass";
    const job = ground.spec(query, { queryType: "PYTHON", name: "job.py" });
    await engine.submit(job);
    await untilState(engine, job.key, "EXITED");
    await engine.cleanup(job.key);
    const samples = await engine.usage(job.key);
    assert.ok(samples.some(({ memory_bytes, processes }) => memory_bytes > 60_000_000 && processes >= 1));
    const cpu = samples.map(({ cpu_seconds }) => cpu_seconds);
    assert.deepEqual(
      cpu,
      [...cpu].sort((a, b) => a - b),
    );
    assert.ok((cpu.at(-1) ?? 0) > 0.5, `${cpu}`);
    for (const { at } of samples) assert.equal(new Date(at).toISOString(), at);
  });
});
