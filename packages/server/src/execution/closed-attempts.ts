/**
 * Cleans up after closed attempts. An attempt is closed when its row has been deleted. The database is asked whether
 * the row still exists. The result of the transaction that deletes the row is not enough, because it can get lost
 * although the transaction was committed.
 */
import { attemptKey } from "../engines/engine.ts";
import type { Engines } from "../engines/registry.ts";
import type { LogArchive } from "../job-logs/log-archive.ts";
import type { OpenAttempt } from "../store/queries/jobs/attempts.ts";
import { attemptOf } from "./attempt-of.ts";
import { announceFound, type EndContext, type Fence, fenceOf } from "./end-attempt.ts";

type ClosedContext = EndContext & { readonly engines: Engines; readonly archive?: LogArchive | undefined };

export class ClosedAttempts {
  readonly #context: ClosedContext;
  readonly #cluster: number;
  /** Attempts that were open at the last check and have not been cleaned up since, by key. */
  readonly #seen = new Map<string, OpenAttempt>();
  /** Keys of attempts whose result is being written; the database has not confirmed the write yet. */
  readonly #ending = new Set<string>();

  /** `cluster` is the id of the cluster whose attempts are handled here. */
  constructor(context: ClosedContext, cluster: number) {
    this.#context = context;
    this.#cluster = cluster;
  }

  /**
   * Cleans up attempts that were open at the last check and are not in `rows`, the attempts that are open now. An
   * attempt is skipped while `isEnding` returns true for its key.
   */
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

  /** Records that the results of these attempts are about to be written. Must be called before the write. */
  expect(fences: readonly Fence[]): void {
    for (const { id, attempt } of fences) this.#ending.add(attemptKey(id, attempt));
  }

  /** Cleans up after one attempt whose row has been deleted. */
  clean({ id, attempt }: Fence): void {
    const key = attemptKey(id, attempt);
    this.#seen.delete(key);
    this.#ending.delete(key);
    this.#context.archive?.add(key);
    this.#context.engines
      .of(this.#cluster)
      .cleanup(key)
      .catch((error) =>
        this.#context.log.warn({ err: error, attempt: key }, "could not clean up the attempt's folder"),
      );
  }

  /**
   * Whether the engine reports that the attempt has ended. An attempt without a row may still be running, for example
   * after a backup was restored.
   */
  async #isOver(key: string, row: OpenAttempt): Promise<boolean> {
    try {
      const seen = await this.#context.engines.of(this.#cluster).observe([attemptOf(row)]);
      const { state } = seen.get(key) ?? { state: "UNKNOWN" };
      return state !== "RUNNING" && state !== "UNKNOWN";
    } catch (error) {
      this.#context.log.debug({ err: error, attempt: key }, "could not observe the closed attempt");
      return false;
    }
  }
}
