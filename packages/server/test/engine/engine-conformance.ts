/** Conformance suite for engines, run on every engine. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { attemptKey, CannotStart, type Engine, type JobSpec, type Observation } from "../../src/engines/engine.ts";
import { openLog } from "../../src/engines/registry.ts";
import { fileAt } from "../../src/execution/job-file.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";

export interface EngineFixture {
  /** An engine on the fixture's folder; a second one represents a restarted server. */
  open(options?: { claimDelay?: string }): Promise<Engine>;
  /** Pids that still belong to an attempt. */
  processes(key: string): number[];
  /** True if every job takes seconds: then what is repeated to find rare faults is repeated less, except in long tests. */
  readonly isSlow?: boolean;
  /** True if the kernel kills all processes of a job at its end, so that nothing is left to sweep. */
  readonly leavesNothing: boolean;
  /** Kills the process that waits for the end of an attempt, with SIGKILL. */
  killSupervisor(key: string): Promise<void>;
  stop(): Promise<void>;
}

/** Names differ between processes: tests that run at the same time look for processes by the key of an attempt. */
let counter = 0;
const spec = (query: string, rest: Partial<JobSpec> = {}): JobSpec =>
  jobSpec({ jobId: `job-${process.pid}-${++counter}`, name: "job.sh", query, ...rest });

/** `skip`: why this machine or user cannot run the suite. */
export function engineConformance(
  kind: string,
  start: () => Promise<EngineFixture>,
  skip: string | false = false,
): void {
  describe(`the ${kind} engine`, { skip }, () => {
    let fixture: EngineFixture;
    let engine: Engine;
    before(async () => {
      fixture = await start();
      engine = await fixture.open();
    });
    after(async () => {
      await engine.close();
      await fixture.stop();
    });

    const rounds = (usual: number) => (fixture.isSlow && process.env["MILLRACE_LONG_TESTS"] !== "1" ? 3 : usual);
    const until = async <S extends Observation["state"]>(key: string, state: S, on = engine) => {
      for (const deadline = Date.now() + 120_000; ; ) {
        const seen = await observeOne(on, key);
        if (seen.state === state) return seen as Observation & { state: S };
        if (Date.now() > deadline) throw new Error(`${key} is ${seen.state}, not ${state}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    /** The log without what the server says about the wait: a job may wait on any cluster, for its own reasons. */
    const log = async (key: string, on = engine) => {
      const source = await openLog(on, key);
      const bytes = await source.read(0, await source.size());
      await source.close();
      return bytes.toString("latin1").replace(/^(\[millrace\] The job waits on its cluster\. .*\n)+/, "");
    };
    /** Waits until the script has started and said so. */
    const untilUp = async (key: string) => {
      while ((await log(key)) === "") await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const run = async (job: JobSpec) => {
      await engine.submit(job);
      const { exit, steps, metrics } = await until(job.key, "EXITED");
      return { code: exit.code, steps: steps.map((s) => s.name), log: await log(job.key), metrics };
    };

    it("runs a job and reports its exit code, its phases and every byte it wrote", async () => {
      const result = await run(spec(String.raw`printf 'out\0\377\r\n'; echo err >&2; exit 7`));
      assert.deepEqual(result, { code: 7, steps: ["query"], log: "out\0\xff\r\nerr\n", metrics: null });
    });

    it("reports 128 + n for a job that signal n ended", async () => {
      assert.equal((await run(spec("kill -9 $$"))).code, 137);
    });

    it("gives a job its own environment and no variable of the server's", async () => {
      process.env["MILLRACE_SECRET_OF_SERVER"] = "hidden";
      const environment = { MINE: "it's $HOME\nand two lines", key: "k", IFS: "x" };
      const { log: text } = await run(spec(`echo "$MINE|$key"; env`, { environment, params: { limit: 3 } }));
      assert.match(text, /^it's \$HOME\nand two lines\|k\n/);
      assert.doesNotMatch(text, /MILLRACE_SECRET_OF_SERVER|hidden/);
      assert.match(text, /^DATACHAIN_QUERY_PARAMS=\{"limit":3\}$/m);
    });

    it("leaves a job's signal handling unchanged: INT and PIPE end programs that do not catch them", async () => {
      const { log: text } = await run(spec("grep SigIgn /proc/self/status; yes | head -n 1"));
      assert.equal(text, "SigIgn:\t0000000000000000\ny\n");
    });

    it("uses the interpreter in a script's first line", async () => {
      assert.equal((await run(spec("#!/usr/bin/env cat\nhello\n"))).log, "#!/usr/bin/env cat\nhello\n");
    });

    it("reads back the metrics that a job leaves, but only a small JSON object", async () => {
      assert.equal((await run(spec(`echo '{"rows": 3}' > "$MILLRACE_METRICS_FILE"`))).metrics, '{"rows":3}');
      assert.equal((await run(spec(`ln -s /etc/passwd "$MILLRACE_METRICS_FILE"`))).metrics, null);
      assert.equal((await run(spec(`mkfifo "$MILLRACE_METRICS_FILE"`))).metrics, null);
      assert.equal((await run(spec(`echo '[1' > "$MILLRACE_METRICS_FILE"`))).metrics, null);
    });

    it("reports the age of a running attempt, also to a restarted server, and of no other", async () => {
      // Optional in the interface.
      if (!engine.age) return;
      const job = spec("sleep 100");
      assert.equal(await engine.age(job.key), undefined, "not handed over");
      await engine.submit(job);
      await until(job.key, "RUNNING");
      const first = (await engine.age(job.key)) ?? Number.NaN;
      const again = await fixture.open();
      const other = (await again.age?.(job.key)) ?? Number.NaN;
      // Process start times have a resolution of a hundredth of a second.
      assert.ok(first >= 0 && other >= first - 20 && ((await engine.age(job.key)) ?? 0) >= first, `${first}, ${other}`);
      await again.close();
      await engine.end(attemptNamed(job.key), "enough");
      await until(job.key, "EXITED");
      assert.equal(await engine.age(job.key), undefined, "it is over");
      await engine.sweep?.([job.key]);
    });

    it("kills an attempt for a reason and reports the reason with its end", async () => {
      const job = spec("echo up; sleep 100");
      await engine.submit(job);
      await untilUp(job.key);
      await engine.end(attemptNamed(job.key), "enough");
      const { exit, overLimit } = await until(job.key, "EXITED");
      assert.deepEqual([exit.code, overLimit], [137, "enough"]);
      await engine.sweep?.([job.key]);
    });

    it("runs an attempt once, however often it is submitted", async () => {
      for (let round = 0; round < rounds(20); round++) {
        const job = spec("echo ran");
        await Promise.all([engine.submit(job), engine.submit(job)]);
        await until(job.key, "EXITED");
        await engine.submit(job);
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.equal(await log(job.key), "ran\n");
        await until(job.key, "EXITED");
      }
    });

    it("never starts an attempt that was withdrawn first", async () => {
      const slow = await fixture.open({ claimDelay: "0.3" });
      const job = spec("echo ran");
      await slow.submit(job);
      assert.match((await observeOne(slow, job.key)).state, /^(SUBMITTED|WAITING)$/);
      assert.equal(await engine.withdraw(attemptNamed(job.key)), true);
      await new Promise((resolve) => setTimeout(resolve, 600));
      assert.equal(await log(job.key), "");
      assert.equal((await observeOne(slow, job.key)).state, "ABSENT");
      assert.equal(await slow.withdraw(attemptNamed(job.key)), true, "withdrawn again after a server died in between");
      await slow.close();
    });

    it("does not withdraw an attempt that has started", async () => {
      const job = spec("sleep 0.2; echo ran");
      await engine.submit(job);
      await until(job.key, "RUNNING");
      assert.equal(await engine.withdraw(attemptNamed(job.key)), false);
      await until(job.key, "EXITED");
      assert.equal(await log(job.key), "ran\n");
    });

    it("lets a job outlive its server: another one attaches, reads the whole log and the exit code", async () => {
      const first = await fixture.open();
      const job = spec("echo before; sleep 0.3; echo after; exit 3");
      await first.submit(job);
      await until(job.key, "RUNNING", first);
      await first.close();
      const second = await fixture.open();
      assert.ok((await second.find()).includes(job.key));
      assert.equal((await until(job.key, "EXITED", second)).exit.code, 3);
      assert.equal(await log(job.key, second), "before\nafter\n");
      await second.close();
    });

    it("signals a cancelled job and lets it exit by itself", async () => {
      const job = spec("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done");
      await engine.submit(job);
      await untilUp(job.key);
      await engine.cancel(attemptNamed(job.key), false);
      assert.equal((await until(job.key, "EXITED")).exit.code, 5);
      assert.match(await log(job.key), /bye/);
    });

    it("kills a job that ignores TERM, forks and creates its own sessions", async () => {
      const job = spec(
        `trap '' TERM; setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & (setsid sleep 1000 &) ; echo up; while :; do sleep 0.05; done`,
      );
      await engine.submit(job);
      await untilUp(job.key);
      await engine.cancel(attemptNamed(job.key), false);
      await engine.cancel(attemptNamed(job.key), true);
      await until(job.key, "EXITED");
      await engine.sweep?.([job.key]);
      assert.deepEqual(fixture.processes(job.key), []);
    });

    it("signals once and does not interrupt the cleanup that a script starts", async () => {
      const job = spec(
        "trap 'echo asked; sleep 0.2 && echo tidied; exit 5' TERM; echo up; while :; do sleep 0.01; done",
      );
      await engine.submit(job);
      await untilUp(job.key);
      let ended = false;
      const asking = (async () => {
        for (; !ended; await new Promise((resolve) => setTimeout(resolve, 5)))
          await engine.cancel(attemptNamed(job.key), false);
      })();
      assert.equal((await until(job.key, "EXITED")).exit.code, 5);
      ended = true;
      await asking;
      assert.deepEqual((await log(job.key)).match(/asked|tidied/g), ["asked", "tidied"]);
    });

    it("misses no process that is in the middle of exec when the job ends", async () => {
      const jobs = [...Array(rounds(30)).keys()].map(() =>
        spec("for i in 1 2 3 4 5 6; do sh -c 'exec sleep 100' & done; exit 0"),
      );
      for (const job of jobs) {
        await engine.submit(job);
        await until(job.key, "EXITED");
        assert.deepEqual((await engine.sweep?.([job.key])) ?? [], []);
        assert.deepEqual(fixture.processes(job.key), []);
      }
    });

    it("kills processes that a job left behind when it exited", async () => {
      const job = spec("setsid sleep 1000 & (setsid setsid sleep 1000 &); exit 0");
      await engine.submit(job);
      await until(job.key, "EXITED");
      if (!fixture.leavesNothing) assert.ok(fixture.processes(job.key).length > 0);
      await engine.sweep?.([job.key]);
      assert.deepEqual(fixture.processes(job.key), []);
    });

    it("starts no further phase of a job that is cancelled between two phases", async () => {
      const job = spec("echo ran", { files: [fileAt(import.meta.filename, "file")] });
      const slow = await fixture.open({ claimDelay: "0.2" });
      await slow.submit(job);
      await slow.cancel(attemptNamed(job.key), false);
      assert.equal((await until(job.key, "EXITED", slow)).exit.code, 143);
      assert.equal(await log(job.key), "");
      await slow.close();
    });

    it("reports a job as lost if its supervisor was killed, and kills its remaining processes", async () => {
      // Repeated, because a process that was seen just before it became part of the job must not be overlooked.
      for (let i = 0; i < rounds(10); i++) {
        const job = spec("sleep 1000");
        await engine.submit(job);
        await until(job.key, "RUNNING");
        await engine.sweep?.([attemptKey("somebody-else", i)]);
        await fixture.killSupervisor(job.key);
        assert.match((await until(job.key, "LOST")).why, /./);
        await engine.sweep?.([job.key]);
        assert.deepEqual(fixture.processes(job.key), []);
      }
    });

    it("reports on many attempts at once, including one that it was never given", async () => {
      const [ended, running] = [spec("exit 4"), spec("echo up; sleep 100")];
      await engine.submit(running);
      await run(ended);
      await untilUp(running.key);
      const keys = [ended.key, running.key, attemptKey("never-given", 1)];
      const seen = await engine.observe(keys.map((key) => attemptNamed(key, engine.epoch)));
      assert.deepEqual(
        keys.map((key) => seen.get(key)?.state),
        ["EXITED", "RUNNING", "ABSENT"],
      );
      await engine.end(attemptNamed(running.key), "enough");
      await until(running.key, "EXITED");
    });

    it("never starts an attempt that was withdrawn before it was submitted", async () => {
      const job = spec("echo ran");
      assert.equal(await engine.withdraw(attemptNamed(job.key)), true);
      await engine.submit(job);
      assert.equal((await observeOne(engine, job.key)).state, "ABSENT");
      assert.equal(await log(job.key), "");
    });

    it("runs a script with a Python that meets its conditions", async () => {
      const job = spec("print('it is')", { queryType: "PYTHON", pythonVersion: ">=3.9, <4" });
      await engine.submit(job);
      assert.equal((await until(job.key, "EXITED")).exit.code, 0);
      assert.match(await log(job.key), /it is/);
    });

    it("refuses an unavailable Python version and lists the available ones", async () => {
      const job = spec("print(1)", { queryType: "PYTHON", pythonVersion: "3.99" });
      const told = /3\.99.*Installed versions: .*3\.\d+/;
      try {
        await engine.submit(job);
      } catch (error) {
        assert.ok(error instanceof CannotStart);
        return assert.match(error.message, told);
      }
      // An engine that learns the versions only where the job runs says so in the job's log.
      assert.notEqual((await until(job.key, "EXITED")).exit.code, 0);
      assert.match(await log(job.key), told);
    });

    it("keeps the log and deletes the rest when it cleans up", async () => {
      const job = spec("echo kept; echo secret > file", { environment: { SECRET: "s" } });
      await run(job);
      await engine.cleanup(job.key);
      assert.equal(await log(job.key), "kept\n");
      assert.equal((await observeOne(engine, job.key)).state, "EXITED");
    });
  });
}
