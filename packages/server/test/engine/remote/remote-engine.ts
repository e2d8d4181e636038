/**
 * A FAKE: the half of the tests' remote engine that runs in a Millrace server. service.ts says what is fake, and why.
 */
import {
  type Attempt,
  CannotStart,
  type Engine,
  EngineUnreachable,
  type JobSpec,
  type LogSource,
  type Observation,
} from "../../../src/engines/engine.ts";
import type { Call, RemoteJob } from "./protocol.ts";

export class RemoteEngine implements Engine {
  readonly capabilities = { isolation: "none" } as const;
  readonly #url: string;
  readonly #delay: number;

  /** `delay`: seconds that a submitted job waits before it starts. */
  constructor(url: string, delay = 0) {
    this.#url = url;
    this.#delay = delay;
  }

  async submit(spec: JobSpec): Promise<string> {
    return this.#call<string>({ name: "submit", job: await this.#travelling(spec) });
  }

  async observe(attempts: readonly Attempt[]): Promise<Map<string, Observation>> {
    return new Map(await this.#call<[string, Observation][]>({ name: "observe", attempts }));
  }

  withdraw = ({ key }: Attempt) => this.#call<boolean>({ name: "withdraw", key });
  cancel = ({ key }: Attempt, force: boolean) => this.#call<void>({ name: "cancel", key, force });
  end = ({ key }: Attempt, why: string) => this.#call<void>({ name: "end", key, why });
  find = () => this.#call<string[]>({ name: "find" });
  cleanup = (key: string) => this.#call<void>({ name: "cleanup", key });
  close = async () => {};

  async openLog(key: string): Promise<LogSource> {
    const read = (offset: number, length: number) =>
      this.#call<{ size: number; content: string }>({ name: "read-log", key, offset, length });
    return {
      size: async () => (await read(0, 0)).size,
      read: async (offset, length) => Buffer.from((await read(offset, length)).content, "base64"),
      close: async () => {},
    };
  }

  async #travelling(spec: JobSpec): Promise<RemoteJob> {
    const { key, jobId, query, queryType, pythonVersion, params } = spec;
    const files = [];
    for (const { name, open } of spec.files) {
      const parts: Uint8Array[] = [];
      for await (const part of open()) parts.push(part);
      files.push({ name, content: Buffer.concat(parts).toString("base64") });
    }
    const { requirements, repository, datasets } = spec;
    const needs = Object.entries({ requirements, repository, datasets }).flatMap(([name, value]) =>
      value ? name : [],
    );
    const environment = {
      ...spec.environment,
      ...(Object.keys(params).length > 0 ? { DATACHAIN_QUERY_PARAMS: JSON.stringify(params) } : {}),
      MILLRACE_JOB_ID: jobId,
    };
    return { key, query, queryType, pythonVersion, environment, files, needs, delay: this.#delay };
  }

  async #call<T>(call: Call): Promise<T> {
    const body = JSON.stringify(call);
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(this.#url, { method: "POST", body, signal }).catch((error: Error) => {
      throw new EngineUnreachable(`The fake engine cannot be reached: ${error.message}`, { cause: error });
    });
    // The connection may also break while the answer is read.
    const text = await response.text().catch((error: Error) => {
      throw new EngineUnreachable(`The fake engine broke off: ${error.message}`, { cause: error });
    });
    if (response.status === 422) throw new CannotStart(text);
    if (!response.ok) throw new Error(text);
    return JSON.parse(text) as T;
  }
}
