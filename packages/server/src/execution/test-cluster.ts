/** Tests a cluster: runs a job that does nothing, outside the queue, and tells step by step what works. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterTest } from "@millrace/contract";
import { type Attempt, attemptKey, type Engine, type JobSpec, type Observation } from "../engines/engine.ts";
import { type Engines, openLog } from "../engines/registry.ts";
import { trialScript } from "../runtimes/trial-script.ts";
import type { ClusterRow } from "../store/queries/jobs/clusters.ts";

class StepFailed extends Error {}

export async function testCluster(
  { engines }: { readonly engines: Engines },
  { id }: ClusterRow,
  seconds: number,
): Promise<ClusterTest> {
  const job = emptyJob();
  const attempt: Attempt = { key: job.key, handle: null, epoch: engines.of(id).epoch ?? "" };
  const test = new Test(engines.of(id), attempt, performance.now() + seconds * 1000);
  const steps: ClusterTest["steps"] = [];
  const tried = {
    "Reach the cluster": () => engines.ask(id, (engine) => engine.observe([])).then(() => "It answers."),
    "Submit a job": () => engines.ask(id, (engine) => engine.submit(job)).then(() => "The cluster accepted it."),
    "Start the job": () => test.start(),
    "Run the job": () => test.end(),
  };
  try {
    for (const [name, run] of Object.entries(tried)) {
      const began = performance.now();
      const took = () => Math.round(performance.now() - began) / 1000;
      try {
        steps.push({ name, ok: true, message: await run(), seconds: took() });
      } catch (error) {
        steps.push({ name, ok: false, message: (error as Error).message, seconds: took() });
        return { ok: false, steps };
      }
    }
    return { ok: true, steps };
  } finally {
    await test.cleanUp();
  }
}

class Test {
  readonly #engine: Engine;
  readonly #attempt: Attempt;
  readonly #deadline: number;

  constructor(engine: Engine, attempt: Attempt, deadline: number) {
    this.#engine = engine;
    this.#attempt = attempt;
    this.#deadline = deadline;
  }

  async start(): Promise<string> {
    const seen = await this.#until((state) => state !== "SUBMITTED" && state !== "WAITING");
    if (seen.state === "WAITING")
      throw new StepFailed(`It still waits. ${seen.reason || "The cluster does not say why."}`);
    if (seen.state === "SUBMITTED")
      throw new StepFailed(
        "The cluster has started it, and it has not reached this server. Check that the nodes of the cluster reach the server's URL (MILLRACE_PUBLIC_URL).",
      );
    if (seen.state === "LOST" || (seen.state === "ABSENT" && seen.why))
      throw new StepFailed(`It was lost: ${seen.why}.`);
    if (seen.state === "ABSENT" || seen.state === "UNKNOWN")
      throw new StepFailed("The cluster does not know it. Look into the log of the cluster.");
    return "It has started and reached this server.";
  }

  async end(): Promise<string> {
    const seen = await this.#until((state) => state === "EXITED" || state === "LOST");
    if (seen.state === "LOST") throw new StepFailed(`It was lost: ${seen.why}.`);
    if (seen.state !== "EXITED") throw new StepFailed("It has not ended in time. Test again with more seconds.");
    const log = await this.#log();
    if (seen.exit.code !== 0) throw new StepFailed(`It ended with exit code ${seen.exit.code}. Its log: ${log}`);
    if (!log.includes(trialScript.said)) throw new StepFailed("It ended well, and its log is not here.");
    return "It ended with exit code 0, and its log is here.";
  }

  /** Observes the attempt until its state is one of those wanted, or time is up. Returns the last observation. */
  async #until(isWanted: (state: Observation["state"]) => boolean): Promise<Observation> {
    for (;;) {
      const seen = (await this.#engine.observe([this.#attempt])).get(this.#attempt.key);
      if (seen && isWanted(seen.state)) return seen;
      if (performance.now() >= this.#deadline) return seen ?? { state: "ABSENT" };
      await sleep(100);
    }
  }

  async #log(): Promise<string> {
    const source = await openLog(this.#engine, this.#attempt.key);
    try {
      return (await source.read(0, 2000)).toString();
    } finally {
      await source.close();
    }
  }

  /** Leaves nothing of the attempt, whatever its state. The next start of the server cleans up what fails here. */
  async cleanUp(): Promise<void> {
    const { key } = this.#attempt;
    try {
      if (!(await this.#engine.withdraw(this.#attempt))) await this.#engine.end(this.#attempt, "The test is over.");
      await this.#engine.cleanup(key);
      await this.#engine.forget?.(key);
    } catch {
      // The test's result says why the cluster does not work.
    }
  }
}

function emptyJob(): JobSpec {
  const { name, query, queryType } = trialScript;
  const jobId = `test-${randomUUID()}`;
  return {
    key: attemptKey(jobId, 1),
    jobId,
    teamId: 0,
    person: null,
    name,
    query,
    queryType,
    environment: {},
    params: {},
    pythonVersion: null,
    requirements: null,
    repository: null,
    reset: false,
    files: [],
    workers: 1,
    priority: 0,
    isRetried: false,
    datasets: null,
  };
}
