/**
 * Places runners on a Ray cluster, over the Jobs API of its head. The submission id of a job is the key of its attempt,
 * so that a job whose submission was interrupted is found again.
 */
import type { RayOptions, RaySecrets } from "@millrace/contract";
import { CannotStart, EngineUnreachable } from "../engine.ts";
import type { EndedRunner, Placed, Placement, Placer } from "../runners/placer.ts";
import { RayClient, type RayJob, RayRefusal, type RaySubmission } from "./ray-client.ts";
import { entrypoint, packageOf, readKeeper } from "./ray-package.ts";

/** Ids of Millrace's jobs have this before their key. */
const prefix = "millrace-";
const idOf = (key: string) => prefix + key;

/** What Ray knows of an ended job is deleted after this many milliseconds, if nobody has asked for it before. */
const forgottenAfterMs = 24 * 3600 * 1000;

/** Ray takes up to this many milliseconds to start a job that need not wait. */
const usualStartMs = 10_000;

const gib = 1024 ** 3;

type SubmittedJob = RayJob & { readonly id: string };

export class RayPlacer implements Placer {
  readonly #options: RayOptions;
  readonly #keeper: string;
  readonly #client: RayClient;
  /** Ids of jobs that are to be deleted as soon as they have ended. */
  readonly #unwanted = new Set<string>();
  /** Since when each job that waits was seen to wait, by the monotonic clock. */
  readonly #waiting = new Map<string, number>();

  get inFlight() {
    return this.#options.max_in_flight;
  }

  static open = async (options: RayOptions, { token }: RaySecrets): Promise<RayPlacer> =>
    new RayPlacer(options, new RayClient(options.address, token), await readKeeper());

  private constructor(options: RayOptions, client: RayClient, keeper: string) {
    this.#options = options;
    this.#client = client;
    this.#keeper = keeper;
  }

  async place(placement: Placement): Promise<string> {
    const id = idOf(placement.key);
    // The package comes first: if the job is there already and waits, it starts with the newest code.
    const { name, bytes } = packageOf(this.#keeper, placement);
    const uri = await this.#client.upload(name, bytes);
    if (await this.#client.find(id)) return id;
    try {
      await this.#client.submit(this.#submission(placement, uri));
    } catch (error) {
      if (error instanceof RayRefusal) throw new CannotStart(`Ray refuses the job: ${error.message}`);
      // The job may have arrived; of two submissions with one id, Ray fails the second.
      if (!(error instanceof EngineUnreachable) || !(await this.#client.find(id))) throw error;
    }
    return id;
  }

  #submission({ key, workers }: Placement, uri: string): RaySubmission {
    const { cpus_per_worker, gpus_per_worker, memory_per_worker, resources, labels, python, folder } = this.#options;
    return {
      submission_id: idOf(key),
      entrypoint: entrypoint(python, folder),
      entrypoint_num_cpus: cpus_per_worker * workers,
      ...(gpus_per_worker > 0 ? { entrypoint_num_gpus: gpus_per_worker * workers } : {}),
      ...(memory_per_worker > 0 ? { entrypoint_memory: Math.ceil(memory_per_worker * workers * gib) } : {}),
      ...(resources === "" ? {} : { entrypoint_resources: numbers(pairsOf(resources)) }),
      ...(labels === "" ? {} : { entrypoint_label_selector: pairsOf(labels) }),
      // Ray does not say how many CPUs a waiting job asks for.
      metadata: { millrace_cpus: String(cpus_per_worker * workers) },
      runtime_env: { working_dir: uri },
    };
  }

  async list(): Promise<Map<string, Placed>> {
    const jobs = (await this.#client.jobs()).flatMap((job) =>
      job.submission_id?.startsWith(prefix) ? { ...job, id: job.submission_id } : [],
    );
    this.#noteWaiting(jobs);
    const why = jobs.some(({ status }) => status === "PENDING") ? await this.#whyWaiting() : () => "";
    await this.#forget(jobs);
    return new Map(
      jobs.flatMap((job): [string, Placed][] => {
        const placed = placedOf(job, why);
        return placed ? [[job.id.slice(prefix.length), placed]] : [];
      }),
    );
  }

  async ended(keys: readonly string[]): Promise<Map<string, EndedRunner>> {
    const jobs = new Map((await this.#client.jobs()).map((job) => [job.submission_id, job]));
    return new Map(
      keys.flatMap((key): [string, EndedRunner][] => {
        const job = jobs.get(idOf(key));
        if (!job || !isOver(job.status)) return [];
        return [[key, { how: `Ray: ${inShort(job.message ?? job.status)}`, isCertain: isCertain(job) }]];
      }),
    );
  }

  /** Returns a function that says why a job waits. Every answer becomes a line of the job's log, so they rarely change. */
  async #whyWaiting(): Promise<(job: SubmittedJob) => string> {
    const nodes = await this.#client.cpus();
    const largest = Math.max(0, ...nodes.map(({ total }) => total));
    return ({ id, metadata }) => {
      const wanted = Number(metadata?.["millrace_cpus"]);
      if (nodes.length > 0 && wanted > largest)
        return `Ray: waits for a node with ${cpus(wanted)}; the largest node has ${largest}`;
      if (performance.now() - (this.#waiting.get(id) ?? performance.now()) < usualStartMs) return "";
      if (nodes.length > 0 && !nodes.some(({ total, used }) => total - used >= wanted))
        return `Ray: waits for ${cpus(wanted)}; no node has as many free`;
      return "Ray: waits for its start, or for resources other than CPUs";
    };
  }

  /** Notes since when each job waits, by the monotonic clock. */
  #noteWaiting(jobs: readonly SubmittedJob[]): void {
    const ids = new Set(jobs.filter(({ status }) => status === "PENDING").map(({ id }) => id));
    for (const id of this.#waiting.keys()) if (!ids.has(id)) this.#waiting.delete(id);
    for (const id of ids) if (!this.#waiting.has(id)) this.#waiting.set(id, performance.now());
  }

  /** Deletes ended jobs that nobody needs any more. Those of a server that was restarted meanwhile stay for a day. */
  async #forget(jobs: readonly SubmittedJob[]): Promise<void> {
    const ended = jobs.filter(({ end_time, status }) => end_time !== null && isOver(status));
    const due = ended.filter(
      ({ id, end_time }) => this.#unwanted.has(id) || Date.now() - (end_time ?? 0) > forgottenAfterMs,
    );
    await Promise.all(due.map(({ id }) => this.#client.remove(id)));
    for (const { id } of due) this.#unwanted.delete(id);
  }

  async remove(key: string): Promise<void> {
    const id = idOf(key);
    const job = await this.#client.find(id);
    if (!job) return;
    if (isOver(job.status)) return this.#client.remove(id);
    this.#unwanted.add(id);
    await this.#client.stop(id);
  }

  close = () => this.#client.close();
}

const isOver = (status: RayJob["status"]) => status !== "PENDING" && status !== "RUNNING";

/** Ray also calls a job failed if it has lost the job's supervisor, for example because a node does not answer. */
const isCertain = ({ status, error_type }: RayJob) =>
  status !== "FAILED" || !/DIED|UNKNOWN/.test(error_type ?? "UNKNOWN");

/** Ray gives up a job that has waited for a while (15 minutes, unless its head has another setting). */
const gaveUp = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT";

/** Returns a job that waits or runs, or that Ray has given up, as the engine wants to know it. */
function placedOf(job: SubmittedJob, why: (job: SubmittedJob) => string): Placed | undefined {
  if (job.status === "RUNNING") return { isRunning: true, reason: "" };
  if (job.status === "PENDING") return { isRunning: false, reason: why(job) };
  if (job.error_type === gaveUp) return { isRunning: false, reason: "", isGivenUp: true };
  return undefined;
}

/** Returns the first line of what Ray says, and the last line of the entrypoint's output, which Ray appends. */
function inShort(message: string): string {
  const [first = "", ...output] = message.split("\n").filter((line) => /\S/.test(line));
  const last = output.filter((line) => !line.startsWith("Running entrypoint for job")).slice(-1);
  return [first.replace(/, last available logs .*/, ":"), ...last].map((line) => line.slice(0, 300)).join(" ");
}

const cpus = (count: number) => (count === 1 ? "1 CPU" : `${count} CPUs`);

const pairsOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(",").map((pair) => pair.split("=") as [string, string]));

const numbers = (pairs: Readonly<Record<string, string>>): Record<string, number> =>
  Object.fromEntries(Object.entries(pairs).map(([name, value]) => [name, Number(value)]));
