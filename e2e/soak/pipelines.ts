/** Pipelines that are triggered repeatedly, a schedule and a task that fire every minute. */
import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isUnfinished, type Job, type Pipeline, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { type Made, openLineage } from "@millrace/testing/millrace/made-datasets.ts";
import { diskFaults } from "./faults.ts";
import type { Load } from "./load.ts";

const everyMinute = "* * * * *";

export class PipelineLoad {
  readonly #load: Load;
  readonly #triggered: { name: string; from: number; ended: Promise<{ pipeline: Pipeline; at: number }> }[] = [];
  #task = "";
  #schedule = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  get #ran(): string {
    return join(this.#load.subject.witness, "pipeline-runs");
  }

  /** Creates three datasets, each from the previous one, and what fires every minute. Before the first fault. */
  async prepare(): Promise<void> {
    const { server, client, databaseUrl } = this.#load.subject;
    await writeFile(this.#ran, "");
    await chmod(this.#ran, 0o666);
    const lineage = await openLineage(server, client, databaseUrl);
    const made: Made[] = [];
    for (const name of ["soak_a", "soak_b", "soak_c"]) {
      const query = `echo ${name} $MILLRACE_JOB_ID >> '${this.#ran}'`;
      made.push(await lineage.make(name, shell(query, { query_name: name }), made.slice(-1)));
    }
    await lineage.close();
    const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets: ["soak_c"], review: true } });
    const body = {
      schedule_name: "soak",
      pipeline_name: pipeline.name ?? "",
      cron_expression: everyMinute,
      overlap: "allow" as const,
    };
    this.#schedule = (await client.call(routes.createSchedule, { body })).schedule.id;
    const task = shell("echo fired", { query_name: "soak-task", cron_expression: everyMinute });
    this.#task = (await client.call(routes.createJob, { body: task })).id;
  }

  run(): Promise<void> {
    const load = this.#load;
    return load.repeat([2000, 6000], async () => {
      const from = performance.now();
      const body = { datasets: ["soak_c"], review: false };
      const trigger = () => load.subject.client.call(routes.triggerPipeline, { body });
      const { pipeline } = await load.persistently("trigger a pipeline", trigger);
      const name = pipeline.name ?? "";
      const ended = this.#ended(name);
      ended.catch(() => {});
      this.#triggered.push({ name, from, ended });
    });
  }

  async check(): Promise<void> {
    for (const { from, ended } of this.#triggered) {
      const { pipeline, at } = await ended;
      const excused = this.#load.timeline.held(from, at, diskFaults);
      if (!excused) assert.deepEqual([pipeline.status, pipeline.completed], ["COMPLETED", 3], JSON.stringify(pipeline));
      else assert.ok(["COMPLETED", "FAILED"].includes(pipeline.status), JSON.stringify(pipeline));
    }
    const lines = (await readFile(this.#ran, "utf8")).trim().split("\n");
    assert.equal(new Set(lines).size, lines.length, "no run of any pipeline ran twice");
  }

  async #ended(name: string): Promise<{ pipeline: Pipeline; at: number }> {
    const { client } = this.#load.subject;
    for (const deadline = performance.now() + 300_000; ; await sleep(500)) {
      const pipeline = await this.#load.persistently("read a pipeline", () =>
        client.call(routes.getPipeline, { query: { name } }),
      );
      if (!isUnfinished(pipeline.status)) return { pipeline, at: performance.now() };
      assert.ok(performance.now() < deadline, `pipeline ${name} is still ${pipeline.status}`);
    }
  }

  /** After all faults the schedule and the task fire again within two minutes, and no minute ever had two firings. */
  async checkFirings(): Promise<{ schedule: number; task: number }> {
    const before = await this.#firings();
    for (const deadline = performance.now() + 130_000; ; await sleep(500)) {
      const now = await this.#firings();
      if (now.schedule > before.schedule && now.task > before.task) break;
      assert.ok(performance.now() < deadline, `nothing fires any more: ${JSON.stringify({ before, now })}`);
    }
    const { client } = this.#load.subject;
    const children = (await this.#jobs()).filter((job) => job.parent_job_id === this.#task);
    assertOncePerMinute(
      "task",
      children.map(({ created_at }) => created_at),
    );
    const runs = await client.call(routes.listPipelines, { query: { limit: 1000 } });
    const scheduled = runs.filter(({ schedule_name }) => schedule_name === "soak");
    assertOncePerMinute(
      "schedule",
      scheduled.map(({ created_at }) => created_at),
    );
    return this.#firings();
  }

  async #firings(): Promise<{ schedule: number; task: number }> {
    const { client } = this.#load.subject;
    const { fired } = await this.#load.persistently("read a schedule", () =>
      client.call(routes.getSchedule, { query: { schedule_id: this.#schedule } }),
    );
    const task = (await this.#jobs()).filter((job) => job.parent_job_id === this.#task).length;
    return { schedule: fired, task };
  }

  #jobs(): Promise<Job[]> {
    const { client } = this.#load.subject;
    return this.#load.persistently("list jobs", () =>
      client.call(routes.listJobs, { query: { name: "soak-task", limit: 1000 } }),
    );
  }
}

function assertOncePerMinute(what: string, times: readonly string[]): void {
  const minutes = times.map((time) => time.slice(0, 16));
  assert.deepEqual(
    minutes.filter((minute, index) => minutes.indexOf(minute) !== index),
    [],
    `the ${what} fired twice in a minute`,
  );
}
