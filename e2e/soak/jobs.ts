/** Jobs of all kinds, created, followed and cancelled; each records every time that it ran. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, isIn, type Job, type JobInput, routes } from "@millrace/contract";
import { python, readJob, readLogBytes, shell } from "@millrace/testing/millrace/jobs.ts";
import { diskFaults } from "./faults.ts";
import { follow } from "./follow.ts";
import type { Load } from "./load.ts";

interface Planned {
  readonly input: JobInput;
  readonly log: string;
  readonly exitCode: number;
  readonly cancel?: true;
}

interface Made extends Planned {
  readonly index: number;
  readonly id: string;
  readonly from: number;
  /** When it was first seen to have ended. */
  ended?: Promise<Ended>;
  /** The output that a follower saw, once it has seen the end. */
  followed?: Promise<string | undefined>;
}

interface Ended {
  readonly job: Job;
  readonly at: number;
}

export class JobLoad {
  readonly #load: Load;
  readonly made: Made[] = [];
  /** Jobs that ended differently than planned, because the disk was full while they ran. */
  excused = 0;
  #next = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  run(): Promise<unknown> {
    const worker = () => this.#load.repeat([300, 1200], () => this.#one());
    return Promise.all([worker(), worker(), worker()]);
  }

  async #one(): Promise<void> {
    const index = this.#next++;
    const load = this.#load;
    const planned = await this.#plan(index);
    const from = performance.now();
    const headers = { "idempotency-key": `soak-${index}` };
    const create = () => load.subject.client.call(routes.createJob, { body: planned.input }, { headers });
    const { id } = await load.persistently("create a job", create);
    const made: Made = { ...planned, index, id, from };
    this.made.push(made);
    made.ended = this.#ended(made);
    made.ended.catch(() => {});
    if (index % 4 === 0) made.followed = follow(load, id);
    if (planned.cancel) void this.#cancel(id);
  }

  /**
   * Writes a trace to another disk, then a log. Its output is known in advance; a script that cannot print it fails.
   */
  async #plan(index: number): Promise<Planned> {
    const { random, subject } = this.#load;
    const trace = `echo once >> '${join(subject.witness, `ran-${index}`)}'`;
    const lines = [...Array(20 + Math.floor(random.next() * 200)).keys()].map((line) => `${line} of job ${index}`);
    const log = `${lines.join("\n")}\n`;
    const exitCode = index % 7 === 3 ? 1 + (index % 5) : 0;
    const count = `i=0; while [ $i -lt ${lines.length} ]; do echo "$i of job ${index}" || exit 74; i=$((i+1)); done`;
    const pause = `sleep ${random.between(0, 3).toFixed(2)}`;
    if (index % 9 === 5) return { input: shell(`${trace}; echo begun; sleep 300`), log: "", exitCode: 0, cancel: true };
    if (index % 9 === 7) return this.#withUpload(trace);
    if (index % 9 === 2) {
      const script = `import subprocess, sys, time\nsubprocess.run(${JSON.stringify(trace)}, shell=True)\nfor i in range(${lines.length}):\n    print(i, "of job ${index}")\ntime.sleep(0.5)\nsys.exit(${exitCode})\n`;
      return { input: python(script), log, exitCode };
    }
    return { input: shell(`${trace}; ${count}; ${pause}; exit ${exitCode}`), log, exitCode };
  }

  async #withUpload(trace: string): Promise<Planned> {
    const { subject } = this.#load;
    const bytes = randomBytes(200_000);
    const file = await this.#load.persistently("upload a file", () =>
      subject.client.upload(routes.uploadFile, new Blob([bytes]), "data.bin"),
    );
    const input = shell(`${trace}; sha256sum < data.bin`, { files: [String(file.id)] });
    return { input, log: `${createHash("sha256").update(bytes).digest("hex")}  -\n`, exitCode: 0 };
  }

  async #cancel(id: string): Promise<void> {
    const load = this.#load;
    await sleep(load.random.between(0, 5000));
    await load.persistently("cancel a job", async () => {
      const cancel = load.subject.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      // The answer to the first request may have been cut.
      await cancel.catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === "wrong_state")) throw error;
      });
    });
  }

  /** Every acknowledged job has ended as planned, ran once, and its log is what it wrote; there are no others. */
  async check(): Promise<void> {
    for (const made of this.made) await this.#checkOne(made);
    const traces = (await readdir(this.#load.subject.witness)).filter((name) => name.startsWith("ran-"));
    const known = new Set(this.made.map(({ index }) => `ran-${index}`));
    assert.deepEqual(
      traces.filter((name) => !known.has(name)),
      [],
      "nothing ran that was not asked for",
    );
  }

  async #checkOne(made: Made): Promise<void> {
    const load = this.#load;
    const { job, at } = await (made.ended as Promise<Ended>);
    const name = `job ${made.index} (${made.id}, ${job.status}, ${job.error_message})`;
    const runs = await readFile(join(load.subject.witness, `ran-${made.index}`), "utf8").catch(() => "");
    // While a disk is full a script cannot write, and may end for that reason: it is not lost, and runs at most once.
    const expected = made.cancel ? "CANCELED" : made.exitCode ? "FAILED" : "COMPLETE";
    const differs = job.status !== expected || job.exit_code !== made.exitCode;
    if (!made.cancel && differs && load.timeline.held(made.from, at, diskFaults)) {
      assert.doesNotMatch(job.error_message ?? "", /was lost|supervises the job was killed/, name);
      assert.equal(job.status, "FAILED", name);
      assert.ok(runs.length <= "once\n".length, `${name} ran at most once`);
      this.excused++;
      return;
    }
    if (made.cancel) {
      assert.equal(job.status, "CANCELED", name);
      assert.ok(runs.length <= "once\n".length, `${name} ran at most once`);
      return;
    }
    assert.deepEqual([job.status, job.exit_code], [made.exitCode ? "FAILED" : "COMPLETE", made.exitCode], name);
    assert.equal(runs, "once\n", `${name} ran once`);
    const log = (await load.persistently("read a log", () => readLogBytes(load.subject.client, made.id))).toString();
    assert.equal(log, made.log, `the log of ${name}`);
    const followed = await made.followed;
    if (followed !== undefined) assert.equal(followed, made.log, `what a follower saw of ${name}`);
  }

  async #ended({ id }: Made): Promise<Ended> {
    const load = this.#load;
    for (const deadline = performance.now() + 300_000; ; await sleep(500)) {
      const job = await load.persistently("read a job", () => readJob(load.subject.client, id));
      if (isIn("final", job.status)) return { job, at: performance.now() };
      assert.ok(performance.now() < deadline, `job ${id} is still ${job.status}`);
    }
  }
}
