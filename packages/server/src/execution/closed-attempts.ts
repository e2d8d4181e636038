/**
 * Cleans up after attempts whose row is gone. What counts is the row, not the answer to the write that removed it: that
 * answer may be lost although the commit was made.
 */
import { attemptKey } from "../engines/engine.ts";
import type { Engines, OnCluster } from "../engines/registry.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import type { OpenAttempt } from "../store/queries/jobs/attempts.ts";
import { attemptOf } from "./attempt-of.ts";
import { announceFound, type EndContext, type Fence, fenceOf } from "./end-attempt.ts";

type ClosedContext = EndContext & { readonly engines: Engines; readonly archive?: LogArchive | undefined };

export class ClosedAttempts {
  readonly #context: ClosedContext;
  readonly #on: OnCluster;
  /** Seen open, and not cleaned since. */
  readonly #seen = new Map<string, OpenAttempt>();
  /** Their results were handed to the store, which has not said yet that it took them. */
  readonly #ending = new Set<string>();

  /** `kind`: of their engine. */
  constructor(context: ClosedContext, kind: string) {
    this.#context = context;
    this.#on = { engine: kind };
  }

  /** Takes the rows that are open; attempts that somebody is just ending are left to them. */
  async compare(rows: readonly OpenAttempt[], isEnding: (key: string) => boolean): Promise<void> {
    const open = new Map(rows.map((row) => [attemptKey(row.job_id, row.attempt), row]));
    for (const [key, row] of this.#seen) {
      if (open.has(key) || isEnding(key) || !(await this.#isOver(key, row))) continue;
      if (this.#ending.has(key)) await announceFound(this.#context, fenceOf(row));
      this.clean(fenceOf(row));
      this.#context.signals.jobChanged(row.job_id);
      this.#context.signals.dispatch.wake();
    }
    for (const [key, row] of open) if (!isEnding(key)) this.#seen.set(key, row);
  }

  /** Call it before the results are written. */
  expect(fences: readonly Fence[]): void {
    for (const { id, attempt } of fences) this.#ending.add(attemptKey(id, attempt));
  }

  /** The row of this attempt is known to be gone. */
  clean({ id, attempt }: Fence): void {
    const key = attemptKey(id, attempt);
    this.#seen.delete(key);
    this.#ending.delete(key);
    this.#context.archive?.add(key);
    this.#context.engines
      .of(this.#on)
      .cleanup(key)
      .catch((error) => this.#context.log.warn({ err: error, attempt: key }, "the job's folder was not cleaned"));
  }

  /** A database that went back in time may have lost the row of a job that runs: its folder is left alone. */
  async #isOver(key: string, row: OpenAttempt): Promise<boolean> {
    try {
      const seen = await this.#context.engines.of(this.#on).observe([attemptOf(row)]);
      const { state } = seen.get(key) ?? { state: "UNKNOWN" };
      return state !== "RUNNING" && state !== "UNKNOWN";
    } catch (error) {
      this.#context.log.debug({ err: error, attempt: key }, "the closed attempt could not be looked at");
      return false;
    }
  }
}
