/**
 * Calls the Jobs API of a Ray head. It uses undici's `request`: Ray refuses requests that look like a browser's, and
 * Node's `fetch` sends such headers.
 */
import { Agent, type Dispatcher } from "undici";
import { EngineUnreachable, shortened } from "../engine.ts";
import { Calls, whyFailed } from "../runners/calls.ts";

/** A job as Ray lists it, as far as we read it. Jobs that were not submitted over this API have no submission id. */
export interface RayJob {
  readonly submission_id: string | null;
  readonly status: "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";
  readonly message: string | null;
  readonly error_type: string | null;
  /** Milliseconds since the Unix epoch; null while the job has not ended. */
  readonly end_time: number | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** A job to submit. */
export interface RaySubmission {
  readonly submission_id: string;
  readonly entrypoint: string;
  readonly entrypoint_num_cpus: number;
  readonly entrypoint_num_gpus?: number;
  readonly entrypoint_memory?: number;
  readonly entrypoint_resources?: Readonly<Record<string, number>>;
  readonly entrypoint_label_selector?: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly runtime_env: { readonly working_dir?: string };
}

/** CPUs of one node. */
export interface NodeCpus {
  readonly total: number;
  readonly used: number;
}

/** Ray refuses a request, and would refuse it again. */
export class RayRefusal extends Error {}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export class RayClient {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent = new Agent();
  readonly #calls: Calls;

  constructor(address: string, token: string, calls = new Calls()) {
    this.#calls = calls;
    this.#base = address.replace(/\/+$/, "");
    this.#headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  }

  /** Lists all jobs, also those that have ended and those of others. */
  async jobs(): Promise<readonly RayJob[]> {
    await this.#calls.rest();
    const { text } = await this.#call("GET", "/api/jobs/");
    this.#calls.noteList(text);
    const jobs = parsed(text);
    if (!Array.isArray(jobs) || !jobs.every(isJob))
      throw new EngineUnreachable(`${this.#base} does not answer like the head of a Ray cluster.`);
    return jobs;
  }

  /** Returns the job with this id, whatever its state; undefined if there is none. */
  async find(id: string): Promise<RayJob | undefined> {
    const { status, text } = await this.#call("GET", jobPath(id), { allow: [404] });
    if (status === 404) return undefined;
    const job = parsed(text);
    if (!isJob(job)) throw new EngineUnreachable(`${this.#base} does not answer like the head of a Ray cluster.`);
    return job;
  }

  /** Submits a job. Throws RayRefusal if it can never be accepted. */
  async submit(job: RaySubmission): Promise<void> {
    const body = JSON.stringify(job);
    const { status, text } = await this.#call("POST", "/api/jobs/", { allow: [400, 500], body });
    if (status === 200) return;
    // Ray answers 500 to what the part behind its head refuses; the last line of the traceback says why.
    const why = lastLine(text);
    const isRefusal = status === 400 || (/^(Type|Value)Error: /.test(why) && !/already exists/.test(why));
    throw isRefusal
      ? new RayRefusal(why.replace(/^\w+: /, ""))
      : new EngineUnreachable(`Ray answered ${status}: ${why}`);
  }

  /** Asks Ray to end a job. It ends a waiting job only once the job has started. */
  async stop(id: string): Promise<void> {
    await this.#call("POST", `${jobPath(id)}/stop`, { allow: [404] });
  }

  /** Deletes what Ray knows of an ended job. */
  async remove(id: string): Promise<void> {
    await this.#call("DELETE", jobPath(id), { allow: [404, 500] });
  }

  /** Uploads a package. Ray deletes it when the last job that refers to it has ended, or soon if there is none. */
  async upload(name: string, bytes: Buffer): Promise<string> {
    const path = `/api/packages/gcs/${encodeURIComponent(name)}`;
    // The question registers a reference that expires; without one, a package that no job uses would stay for ever.
    await this.#call("GET", path, { allow: [404] });
    await this.#call("PUT", path, { body: bytes });
    return `gcs://${name}`;
  }

  /** Returns the CPUs of each node; empty if the head does not tell. */
  async cpus(): Promise<readonly NodeCpus[]> {
    const { status, text } = await this.#call("GET", "/api/cluster_status", { allow: [404, 500] });
    if (status !== 200) return [];
    const nodes = (parsed(text) as ClusterStatus)?.data?.clusterStatus?.loadMetricsReport?.usageByNode ?? {};
    return Object.values(nodes).map(({ CPU: [used, total] = [0, 0] }) => ({ used, total }));
  }

  close(): Promise<void> {
    this.#calls.close();
    return this.#agent.destroy();
  }

  async #call(
    method: Dispatcher.HttpMethod,
    path: string,
    { body, allow = [] }: { readonly body?: string | Buffer; readonly allow?: readonly number[] } = {},
  ): Promise<Answer> {
    const answer = await this.#send(method, path, body);
    if (answer.status === 200 || allow.includes(answer.status)) return answer;
    throw new EngineUnreachable(`${this.#base}: ${meaning(answer)}`);
  }

  async #send(method: Dispatcher.HttpMethod, path: string, body: string | Buffer | undefined): Promise<Answer> {
    const type = typeof body === "string" ? { "content-type": "application/json" } : {};
    const url = new URL(this.#base + path);
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: url.pathname,
        method,
        headers: { ...this.#headers, ...type },
        body: body ?? null,
        signal: this.#calls.limit(),
      });
      return { status: answer.statusCode, text: await this.#calls.read(answer.body) };
    } catch (error) {
      const why = whyFailed(error as Error);
      throw new EngineUnreachable(`${this.#base} cannot be reached: ${why}`, { cause: error });
    }
  }
}

/** Whether an answer has what we read of a job. Anything may answer in the place of a head. */
function isJob(value: unknown): value is RayJob {
  const job = value as Partial<Record<keyof RayJob, unknown>> | null;
  if (typeof job !== "object" || job === null) return false;
  const isText = (field: unknown) => field === null || field === undefined || typeof field === "string";
  const texts = [job.submission_id, job.message, job.error_type];
  return typeof job.status === "string" && texts.every(isText);
}

interface ClusterStatus {
  readonly data?: {
    readonly clusterStatus?: {
      readonly loadMetricsReport?: { readonly usageByNode?: Readonly<Record<string, { CPU?: [number, number] }>> };
    };
  };
}

const jobPath = (id: string) => `/api/jobs/${encodeURIComponent(id)}`;

const lastLine = (text: string) =>
  shortened(
    text
      .split("\n")
      .filter((line) => /\w/.test(line))
      .at(-1)
      ?.trim() ?? "",
  );

/** Says what an answer means that nobody expected. */
function meaning({ status, text }: Answer): string {
  if (status === 401) return "the cluster asks for a token. Set the secret `token`.";
  if (status === 403) return "the cluster refuses the token. Set the secret `token` again.";
  if (status === 404) return "there is no Jobs API. The head needs the package ray[default].";
  return `Ray answered ${status}: ${lastLine(text)}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new EngineUnreachable("The answer of Ray is not JSON.");
  }
}
