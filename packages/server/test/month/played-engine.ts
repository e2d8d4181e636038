/**
 * A simulated engine, because real jobs would take a month. It starts submitted attempts and ends them when and how the
 * plan says. Like processes, it survives servers. Attempts that it was never given are ABSENT and can be withdrawn.
 */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Attempt, Engine, JobSpec, Observation } from "../../src/engines/engine.ts";
import type { Warehouses } from "../../src/warehouses/warehouses.ts";
import { at, type Month, minute, type Attempt as PlannedAttempt } from "./plan.ts";

/** An attempt that has started. */
export interface Begun {
  readonly key: string;
  readonly jobId: string;
  /** The name of the script and its number, which is its text. */
  readonly script: string;
  /** Undefined if somebody ran it by hand. */
  readonly moment: string | undefined;
  readonly begun: number;
  /** When it ends by itself; undefined: never. */
  readonly ends: number | undefined;
  readonly code: number;
  /** Its result, once it has ended. */
  ended?: { readonly at: number; readonly code: number; readonly overLimit: string | null };
}

const steps = ["datasets", "query"].map((name) => ({ name, label: name, started_at: "", finished_at: null }));

export class PlayedEngine implements Engine {
  readonly capabilities = { isolation: "none" } as const;
  /** Every attempt that ever started, in order. */
  readonly all: Begun[] = [];
  /** Called at ends; starts are noticed by polling. */
  onChange: (key: string) => void = () => {};
  readonly #month: Month;
  readonly #now: () => number;
  readonly #runs = new Map<string, Begun>();
  readonly #withdrawn = new Set<string>();
  readonly #made = new Map<string, Buffer[]>();
  #versions = 0;

  constructor(month: Month, now: () => number) {
    this.#month = month;
    this.#now = now;
  }

  /** Ends the attempts that are due, and returns the time of the next end. */
  next(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const run of this.#runs.values()) {
      if (run.ended || run.ends === undefined) continue;
      if (run.ends > this.#now()) next = Math.min(next, run.ends);
      else this.#end(run, { at: run.ends, code: run.code, overLimit: null });
    }
    return next;
  }

  #end(run: Begun, ended: NonNullable<Begun["ended"]>): void {
    run.ended ??= ended;
    this.onChange(run.key);
  }

  async submit(spec: JobSpec): Promise<null> {
    if (!this.#withdrawn.has(spec.key) && !this.#runs.has(spec.key)) this.#begin(spec);
    return null;
  }

  #begin(spec: JobSpec): void {
    const moment = spec.params["scheduled_at"] as string | undefined;
    const script = spec.query;
    const before = this.all.filter(({ jobId }) => jobId === spec.jobId).length;
    const attempt = this.#attempt(script, moment, before);
    const begun = this.#now();
    const takes = attempt === "hangs" ? undefined : "well" in attempt ? attempt.well : attempt.badly;
    const run: Begun = {
      ...{ key: spec.key, jobId: spec.jobId, script, moment, begun },
      ends: takes === undefined ? undefined : begun + takes * minute,
      code: attempt !== "hangs" && "well" in attempt ? 0 : 1,
    };
    this.#runs.set(spec.key, run);
    this.all.push(run);
  }

  #attempt(script: string, moment: string | undefined, before: number): PlannedAttempt {
    const [name] = script.split(" ");
    const runs = [...this.#month.schedules, ...this.#month.tasks].find((one) => one.name === name);
    if (moment === undefined || !runs) return { well: 1 };
    const time = Date.parse(moment);
    const spell = runs.spells?.find(({ from, to }) => at(from) <= time && time < at(to));
    return spell?.attempts[before] ?? { well: runs.usual };
  }

  async observe(attempts: readonly Attempt[]): Promise<Map<string, Observation>> {
    return new Map(attempts.map(({ key }) => [key, this.#observe(key)]));
  }

  #observe(key: string): Observation {
    const run = this.#runs.get(key);
    if (!run) return { state: "ABSENT" };
    if (!run.ended) return { state: "RUNNING", steps, querying: true };
    const { at: finishedAt, code, overLimit } = run.ended;
    const told = { metrics: null, overLimit };
    return { state: "EXITED", steps, exit: { code, phase: "query", finishedAt }, ...told };
  }

  async withdraw({ key }: Attempt): Promise<boolean> {
    if (this.#runs.has(key)) return false;
    this.#withdrawn.add(key);
    return true;
  }

  async cancel({ key }: Attempt): Promise<void> {
    const run = this.#runs.get(key);
    if (run) this.#end(run, { at: this.#now(), code: 143, overLimit: null });
  }

  async age(key: string): Promise<number | undefined> {
    const run = this.#runs.get(key);
    return run && !run.ended ? this.#now() - run.begun : undefined;
  }

  async end({ key }: Attempt, why: string): Promise<void> {
    const run = this.#runs.get(key);
    if (run) this.#end(run, { at: this.#now(), code: 137, overLimit: why });
  }

  async openLog() {
    const bytes = Buffer.from("played\n");
    return {
      size: async () => bytes.length,
      read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
      close: async () => {},
    };
  }

  find = async () => [...this.#runs.keys()];
  cleanup = async () => {};
  close = async () => {};

  /** The simulated warehouse of the team: a successful job has created a version of the dataset of its script. */
  warehouses(): Warehouses {
    const collect: Warehouses["collect"] = async (_team, { jobId }) => {
      // Reading the warehouse takes longer than a round of other loops.
      await setTimeout(5);
      return this.#collect(jobId);
    };
    return { collect, close: () => {} } as unknown as Warehouses;
  }

  #collect(jobId: string): Buffer[] {
    const run = this.all.findLast((one) => one.jobId === jobId);
    if (run?.ended?.code !== 0) return [];
    // A repeated call gets the same answer.
    const made = this.#made.get(jobId) ?? this.#version(run);
    this.#made.set(jobId, made);
    return made;
  }

  /** Version numbers only grow, whoever creates them. */
  nextVersion = () => `1.0.${++this.#versions}`;

  /** As lines: what the job did, then each version. */
  #version({ jobId, script, ended }: Begun): Buffer[] {
    const [name] = script.split(" ");
    const uuid = randomUUID();
    const created_at = new Date(ended?.at ?? 0).toISOString().replace("T", " ").replace("Z", "000");
    const place = { namespace: "@lead", project: "default", name };
    const version = { ...place, uuid, version: this.nextVersion(), job_id: jobId, created_at, needs: [] };
    const dataset = { uuid: randomUUID(), description: null, attrs: "[]" };
    const head = { jobs: [{ uuid, isCreator: true }], removed: [], metrics: null };
    return [head, { ...version, dataset }].map((line) => Buffer.from(JSON.stringify(line)));
  }
}
