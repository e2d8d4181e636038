/**
 * Batches reads of job states. Each follower polls its own job, and this class reads all requested jobs with one query
 * at a time, so that followers do not use up the database connections.
 */

import { setImmediate } from "node:timers/promises";
import type { JobState } from "../../store/queries/jobs/jobs.ts";
import { asServer } from "../../turns/asker.ts";

type Ask = (ids: readonly string[]) => Promise<Map<string, JobState>>;
type Answer = PromiseWithResolvers<JobState | undefined>;

/** Maximum number of jobs in one query. */
const atOnce = 500;

export class JobStates {
  readonly #ask: Ask;
  #wanted = new Map<string, Answer>();
  #isAsking = false;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Returns the state of a job, read after this call was made; undefined if the job does not exist. */
  of(id: string): Promise<JobState | undefined> {
    const answer = this.#wanted.get(id) ?? Promise.withResolvers<JobState | undefined>();
    this.#wanted.set(id, answer);
    if (!this.#isAsking) void asServer(() => this.#askAll());
    return answer.promise;
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    while (this.#wanted.size > 0) {
      // The timers of many followers fire in the same iteration of the event loop; this collects their requests.
      await setImmediate();
      const wanted = [...this.#wanted].slice(0, atOnce);
      for (const [id] of wanted) this.#wanted.delete(id);
      await this.#answer(wanted);
    }
    this.#isAsking = false;
  }

  async #answer(wanted: readonly (readonly [string, Answer])[]): Promise<void> {
    try {
      const states = await this.#ask(wanted.map(([id]) => id));
      for (const [id, { resolve }] of wanted) resolve(states.get(id));
    } catch (error) {
      for (const [, { reject }] of wanted) reject(error);
    }
  }
}
