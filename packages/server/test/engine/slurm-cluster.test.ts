/** What is special about jobs on a real Slurm: options, waiting, refusals, and daemons that are killed. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { SlurmOptions } from "@millrace/contract";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { until } from "@millrace/testing/until.ts";
import {
  attemptKey,
  CannotStart,
  EngineUnreachable,
  type JobSpec,
  type Observation,
} from "../../src/engines/engine.ts";
import type { Placement, Placer } from "../../src/engines/runners/placer.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { SlurmPlacer } from "../../src/engines/slurm/slurm-placer.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { jobSpec } from "../support/job-spec.ts";
import { gatedPython, slowPython, slurmOptions } from "./slurm/slurm-options.ts";

const skip = await whyNoSlurm();

let counter = 0;
const spec = (query: string, rest: Partial<JobSpec> = {}): JobSpec =>
  jobSpec({ jobId: `slurm-${++counter}`, name: "job.sh", query, ...rest });

/** A placer that does what another one does, so that a test can replace one method. */
const passingOn = (real: SlurmPlacer): Placer => ({
  place: (asked) => real.place(asked),
  list: () => real.list(),
  ended: (keys) => real.ended(keys),
  remove: (key) => real.remove(key),
  close: () => real.close(),
});

describe("jobs on Slurm", { skip }, () => {
  let cluster: SlurmCluster;
  let server: InProcessServer;
  before(async () => {
    cluster = await SlurmCluster.start();
    server = await startInProcess();
  });
  after(async () => {
    await server.dispose();
    await cluster.stop();
  });

  const placer = (options: Partial<SlurmOptions> = {}, absentMs?: number) =>
    new SlurmPlacer(slurmOptions(cluster, options), absentMs);
  const engine = (options: Partial<SlurmOptions> = {}, by: Placer = placer(options), silenceMs = 200) =>
    RunnerEngine.open({
      isolation: "none",
      jobsDir: join(server.dataDir, "jobs"),
      runners: server.runners,
      placer: by,
      url: () => server.url,
      silenceMs,
    });
  const placement = (rest: Partial<Placement> = {}): Placement => ({
    key: `placed-${++counter}.1`,
    runner: "pass",
    variables: {},
    workers: 1,
    priority: 5,
    isRepeated: false,
    ...rest,
  });
  const untilState = <S extends Observation["state"]>(on: RunnerEngine, key: string, state: S) =>
    until(
      `${key} is ${state}`,
      async () => {
        const seen = await observeOne(on, key);
        return seen.state === state ? (seen as Observation & { state: S }) : undefined;
      },
      60,
    );
  const log = (key: string) => {
    try {
      return readFileSync(join(server.dataDir, "jobs", key, "log"), "utf8");
    } catch {
      return "";
    }
  };
  const waits = "[millrace] The job waits on its cluster. Slurm: ";
  /** The log without what the server says about the wait: a job may wait in every test, for Slurm's own reasons. */
  const output = (key: string) =>
    log(key)
      .split(/(?<=\n)/)
      .filter((line) => !line.startsWith(waits))
      .join("");
  const untilLog = (key: string, text: string) => until(`${key} writes ${text}`, () => log(key).includes(text), 60);
  /** What Slurm says about the jobs with this key, one line each: also about ended ones. */
  const known = async (key: string, format: string) =>
    (await cluster.command("squeue", "--noheader", "--states=all", `--name=millrace-${key}`, `--Format=${format}`))
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");

  /** A killed controller forgets what it has not written. This changes a job, and waits until that is written. */
  const untilSaved = async (handle: string) => {
    const begun = Date.now();
    await cluster.command("scontrol", "update", `JobId=${handle}`, "Comment=saved");
    await until("the controller has written its state", () => cluster.savedAt() > begun);
  };

  it("options of the cluster, workers and priority become what Slurm knows of the job", async () => {
    const options = {
      partition: "usual",
      account: "physics",
      time: "00:07:00",
      memory: "60M",
      gpus: "1",
      extra_flags: "--begin=now+1hour --contiguous",
    };
    const by = placer(options);
    const { key, ...rest } = placement({ workers: 3, priority: 2 });
    const id = await by.place({ key, ...rest });
    const shown = await cluster.command("scontrol", "show", "job", id);
    for (const field of [
      ...[`JobName=millrace-${key}`, `Comment=millrace-${key}`, "Partition=usual", "Account=physics"],
      ...["TimeLimit=00:07:00", "MinMemoryCPU=60M", "NumNodes=1-1", "NumTasks=3", "NumCPUs=3", "Nice=200", "Requeue=0"],
      ...["TresPerNode=gres:gpu:1", "Reason=BeginTime", "Contiguous=1"],
    ])
      assert.ok(` ${shown.replaceAll("\n", " ")} `.includes(` ${field} `), `${field} in ${shown}`);
    await by.remove(key);
    await until("the job is gone", async () => !(await by.list()).has(key));
  });

  it("a job that asks for a GPU runs on the node that has one", async () => {
    const job = spec("echo up; sleep 100");
    const on = await engine({ gpus: "2" });
    await on.submit(job);
    await untilLog(job.key, "up");
    assert.deepEqual(await known(job.key, "NodeList"), [cluster.nodes.at(-1)]);
    await on.end(attemptNamed(job.key), "enough");
    await untilState(on, job.key, "EXITED");
  });

  it("a job that waits says why, and one that is withdrawn then leaves the queue", async () => {
    const on = await engine({ partition: "closed" });
    const job = spec("echo ran");
    await on.submit(job);
    const seen = await until("it waits with a reason", async () => {
      const now = await observeOne(on, job.key);
      return now.state === "WAITING" && now.reason.includes("Partition") ? now : undefined;
    });
    assert.equal(seen.reason, "Slurm: its partition does not start jobs (PartitionDown)");
    assert.equal(await on.withdraw(attemptNamed(job.key)), true);
    await until("it left the queue", async () => (await known(job.key, "State"))[0] === "CANCELLED");
    assert.equal((await observeOne(on, job.key)).state, "ABSENT");
  });

  it("what Slurm refuses cannot start, and the message is Slurm's", async () => {
    const told = async (job: JobSpec, options: Partial<SlurmOptions>, message: RegExp) =>
      assert.rejects((await engine(options)).submit(job), (error) => {
        assert.ok(error instanceof CannotStart, String(error));
        assert.match(error.message, message);
        return true;
      });
    await told(spec("true"), { partition: "none" }, /invalid partition/i);
    await told(spec("true", { workers: 5 }), {}, /Requested node configuration is not available/);
    await told(spec("true"), { memory: "2000M" }, /Memory specification can not be satisfied/);
    await told(spec("true"), { gpus: "unicorn:1" }, /gres|node configuration/i);
    await told(spec("true"), { extra_flags: "--no-such-flag" }, /unrecognized option/);
    await told(spec("true"), { time: "soon" }, /Invalid --time/);
  });

  it("two submissions of one key place one runner", async () => {
    const by = placer({ extra_flags: "--begin=now+1hour" });
    const first = placement();
    const id = await by.place(first);
    assert.equal(await by.place({ ...first, isRepeated: true }), id);
    assert.equal((await known(first.key, "JobID")).length, 1);
    await by.remove(first.key);
  });

  it("a runner whose submission was not acknowledged is adopted, and runs its job once", async () => {
    const real = placer({ python: slowPython(cluster, "1") });
    const forgetful: Placer = {
      ...passingOn(real),
      async place(asked) {
        await real.place(asked);
        throw new EngineUnreachable("the answer was lost");
      },
    };
    const job = spec("echo ran");
    await assert.rejects((await engine({}, forgetful)).submit(job), EngineUnreachable);
    const on = await engine({}, real);
    await on.submit(job);
    await untilState(on, job.key, "EXITED");
    assert.equal(output(job.key), "ran\n");
    assert.equal((await known(job.key, "JobID")).length, 1);
  });

  it("without its controller Slurm cannot be reached, and nothing is lost", async () => {
    const on = await engine();
    const gate = join(dirname(cluster.configuration), "down");
    const running = spec(`echo up; until [ -e ${gate} ]; do sleep 0.1; done; echo down`);
    const waiting = await engine({ extra_flags: "--begin=now+3600" });
    const later = spec("echo ran");
    await on.submit(running);
    const handle = await waiting.submit(later);
    await untilLog(running.key, "up");
    await untilSaved(handle);
    await cluster.killController();
    await assert.rejects(on.observe([]), EngineUnreachable);
    const refused = spec("echo ran");
    await assert.rejects(on.submit(refused), EngineUnreachable);
    writeFileSync(gate, "");
    await untilLog(running.key, "down");
    await cluster.startController();
    assert.equal((await untilState(on, running.key, "EXITED")).exit.code, 0);
    assert.equal((await observeOne(on, later.key)).state, "WAITING");
    await cluster.command("scontrol", "update", `JobId=${handle}`, "StartTime=now");
    await on.submit(refused);
    for (const { key } of [later, refused]) {
      await untilState(on, key, "EXITED");
      assert.equal(output(key), "ran\n");
    }
  });

  it("an attempt that was withdrawn while Slurm was away runs nothing when its runner comes up", async () => {
    const python = gatedPython(cluster, "withdrawn");
    const on = await engine({ python: python.path });
    const job = spec("echo ran");
    const handle = await on.submit(job);
    await until("the runner starts", async () => (await known(job.key, "State"))[0] === "RUNNING");
    await untilSaved(handle);
    await cluster.killController();
    assert.equal(await on.withdraw(attemptNamed(job.key)), true, "nobody can claim it any more");
    await cluster.startController();
    python.open();
    // The removal may have waited for Slurm; otherwise the server refuses the runner.
    const isOver = (state = "") => /^CANCELLED/.test(state) || state.endsWith(` ${91 << 8}`);
    await until("the runner is over", async () => isOver((await known(job.key, "State,exit_code"))[0]), 60);
    assert.equal(output(job.key), "");
    assert.equal((await observeOne(on, job.key)).state, "ABSENT");
  });

  it("a runner that Slurm launches again on another node runs nothing, and the first one goes on", async () => {
    // Longer than the time between two beats, as on a server.
    const on = await engine({}, placer(), 60_000);
    const tally = join(dirname(cluster.configuration), "tally");
    writeFileSync(tally, "");
    // Slurm writes its state at most every 5 seconds: that the job was submitted, but not that it was started.
    await until("the controller may write at once", () => Date.now() - cluster.savedAt() > 6000);
    const job = spec(`echo ran >> ${tally}; echo up; until [ -e ${tally}.over ]; do sleep 0.1; done; echo down`);
    await on.submit(job);
    await untilLog(job.key, "up");
    const [node = ""] = await known(job.key, "NodeList");
    await cluster.killController();
    await cluster.killDaemon(node);
    await cluster.startController();
    await cluster.command("scontrol", "update", `NodeName=${node}`, "State=DOWN", "Reason=away");
    const refused = `${91 << 8}`;
    const [, second] = await until(
      "the second runner is refused",
      async () => {
        const [status, place] = (await known(job.key, "exit_code,NodeList"))[0]?.split(/\s+/) ?? [];
        return status === refused ? [status, place] : undefined;
      },
      60,
    );
    assert.notEqual(second, node);
    assert.equal((await observeOne(on, job.key)).state, "RUNNING", "the first one is heard");
    writeFileSync(`${tally}.over`, "");
    assert.equal((await untilState(on, job.key, "EXITED")).exit.code, 0);
    assert.equal(output(job.key), "up\ndown\n");
    assert.equal(readFileSync(tally, "utf8"), "ran\n");
    await cluster.restartNode(node);
  });

  it("a job that Slurm has forgotten before it started takes another attempt", async () => {
    const on = await engine({}, placer({ extra_flags: "--begin=now+3600" }, 500));
    const job = spec("echo ran");
    await on.submit(job);
    assert.equal((await observeOne(on, job.key)).state, "WAITING");
    await cluster.forgetAll();
    assert.equal((await observeOne(on, job.key)).state, "SUBMITTED", "missing once is not gone");
    await untilState(on, job.key, "ABSENT");
    assert.equal(log(job.key), `${waits}it waits for a condition (BeginTime)\n`);
    assert.equal(await on.withdraw(attemptNamed(job.key)), true);
    assert.equal(output(job.key), "");
  });

  it("a job goes on while the daemon of its node is away", async () => {
    const on = await engine();
    const job = spec("echo up; sleep 1; echo down; exit 3");
    await on.submit(job);
    await untilLog(job.key, "up");
    const [node = ""] = await known(job.key, "NodeList");
    await cluster.killDaemon(node);
    assert.equal((await untilState(on, job.key, "EXITED")).exit.code, 3);
    assert.equal(output(job.key), "up\ndown\n");
    cluster.startNode(node);
    await cluster.untilReady();
  });

  it("a job whose node dies is lost, with Slurm's reason", async () => {
    const on = await engine();
    const job = spec("echo up; sleep 100");
    await on.submit(job);
    await untilLog(job.key, "up");
    const [node = ""] = await known(job.key, "NodeList");
    await cluster.killNode(node);
    assert.equal((await observeOne(on, job.key)).state, "RUNNING", "Slurm does not know it yet");
    // As Slurm does by itself after its SlurmdTimeout.
    await cluster.command("scontrol", "update", `NodeName=${node}`, "State=DOWN", "Reason=dead");
    assert.match((await untilState(on, job.key, "LOST")).why, /Slurm: NODE_FAIL/);
    await cluster.restartNode(node);
  });

  it("a job that an administrator of Slurm cancels is over, and nothing of it is left", async () => {
    const on = await engine();
    const job = spec("echo up; trap '' TERM; sleep 100; sleep 100");
    await on.submit(job);
    await untilLog(job.key, "up");
    const [node = ""] = await known(job.key, "NodeList");
    await cluster.command("scancel", `--name=millrace-${job.key}`);
    assert.match((await untilState(on, job.key, "LOST")).why, /\(Slurm: CANCELLED/);
    await until("nothing is left on the node", () => cluster.jobProcesses(node).length === 0);
  });

  /** Puts a program of the test before Slurm's own commands. Returns the options for it, and its calls. */
  function ownProgram(program: string, name: string, script = `exec /usr/bin/${program} "$@"`) {
    const folder = join(dirname(cluster.configuration), name);
    const calls = join(folder, "calls");
    mkdirSync(folder);
    const text = `#!/bin/sh\nprintf '%s\\n' "$*" >> ${calls}\n${script}\n`;
    writeFileSync(join(folder, program), text, { mode: 0o755 });
    return { options: { slurm_bin: folder }, calls: () => readFileSync(calls, "utf8").trim().split("\n") };
  }

  it("many jobs that are withdrawn at once leave the queue with few commands", async () => {
    const { options, calls } = ownProgram("scancel", "counting");
    const on = await engine({ ...options, extra_flags: "--begin=now+3600" });
    const jobs = [...Array(20)].map(() => spec("echo ran"));
    const stays = spec("echo ran");
    for (const job of [...jobs, stays]) await on.submit(job);
    await Promise.all(jobs.map(({ key }) => on.withdraw(attemptNamed(key))));
    for (const { key } of jobs) await until(`${key} left`, async () => (await known(key, "State"))[0] === "CANCELLED");
    assert.ok(calls().length <= 3, calls().join("\n"));
    assert.equal((await observeOne(on, stays.key)).state, "WAITING");
    await on.withdraw(attemptNamed(stays.key));
  });

  it("a cluster without accounting says so once, and nothing else depends on it", async () => {
    const { options, calls } = ownProgram("sacct", "no-accounting");
    const by = placer(options);
    assert.deepEqual(await by.ended(["unknown-1.1"]), new Map());
    assert.deepEqual(await by.ended(["unknown-2.1"]), new Map());
    assert.equal(calls().length, 1);
    await assert.rejects(cluster.command("sacct"), /Slurm accounting storage is disabled/);
  });

  it("a job that squeue has forgotten ended as the accounting says", async () => {
    // The cluster has no accounting database: this plays its answer, for the name that is asked for.
    const name = "$(expr \"$*\" : '.*--name=\\([^ ]*\\)')";
    const record = `printf '%s\\037CANCELLED by 0\\0370:15\\037None\\n' "${name}"`;
    const { options, calls } = ownProgram("sacct", "accounting", record);
    const on = await engine(options);
    const job = spec("echo up; sleep 100");
    await on.submit(job);
    await untilLog(job.key, "up");
    const [node = ""] = await known(job.key, "NodeList");
    await cluster.killNode(node);
    await cluster.forgetAll(node);
    assert.match((await untilState(on, job.key, "LOST")).why, /ended without a word \(Slurm: CANCELLED, signal 15\)$/);
    assert.ok(calls().every((words) => words.includes(`--name=millrace-${job.key}`)));
    assert.equal(calls().length, 1, "what it said is not asked for again");
  });

  it("a Python is found whatever letters its path has", async () => {
    const folder = join(dirname(cluster.configuration), "it's'''\"$HOME\"\\x`id`");
    mkdirSync(folder);
    const python = join(folder, "python");
    writeFileSync(python, '#!/bin/sh\nexec /usr/bin/python3 "$@"\n', { mode: 0o755 });
    const on = await engine({ python });
    const job = spec("echo ran");
    await on.submit(job);
    assert.equal((await untilState(on, job.key, "EXITED")).exit.code, 0);
  });

  it("a node without the cluster's Python is named as the reason, after three attempts that never began", async () => {
    const on = await engine({ python: "/no/such/python" });
    const jobId = spec("echo ran").jobId;
    const reason = /before it reached this server \(Slurm: FAILED, exit code 127: the Python of the cluster is not/;
    for (const [index, state] of (["ABSENT", "ABSENT", "LOST"] as const).entries()) {
      const key = attemptKey(jobId, index + 1);
      await on.submit(spec("echo ran", { jobId, key }));
      assert.match((await untilState(on, key, state)).why ?? "", reason);
      await on.cleanup(key);
    }
  });

  it("nobody else can read a secret: not in the queue, the batch script, its spool file or the list of processes", async () => {
    let code = "";
    const real = placer();
    const noting: Placer = {
      ...passingOn(real),
      place(asked) {
        code = asked.variables["MILLRACE_RUNNER_CODE"] ?? "";
        return real.place(asked);
      },
    };
    const on = await engine({}, noting);
    const job = spec("echo up; sleep 100", { environment: { PASSWORD: "very-secret" } });
    const handle = await on.submit(job);
    await untilLog(job.key, "up");
    assert.ok(code.length > 20);
    const others = [
      await cluster.commandOfNobody("squeue", "--Format=ALL").catch(() => ""),
      await cluster.commandOfNobody("squeue", "--format=%all"),
      await cluster.commandOfNobody("scontrol", "--details", "show", "job", handle),
      await cluster.commandOfNobody("ps", "axeww", "-o", "args"),
    ].join("\n");
    assert.ok(others.includes(`millrace-${job.key}`), "others do see the job");
    for (const secret of [code, "very-secret"]) assert.ok(!others.includes(secret), others);
    assert.equal(await cluster.commandOfNobody("scontrol", "write", "batch_script", handle, "-"), "");
    assert.match(await cluster.command("scontrol", "write", "batch_script", handle, "-"), /MILLRACE_RUNNER_CODE/);
    const [node = ""] = await known(job.key, "NodeList");
    const spool = join(dirname(cluster.configuration), "spool", node, `job${handle.padStart(5, "0")}`, "slurm_script");
    assert.ok(readFileSync(spool, "utf8").includes(code), "the batch script holds the code");
    assert.ok(!readFileSync(spool, "utf8").includes("very-secret"), "and nothing of the job");
    await assert.rejects(cluster.commandOfNobody("cat", spool), /Permission denied/);
    await on.end(attemptNamed(job.key), "enough");
    await untilState(on, job.key, "EXITED");
  });
});
