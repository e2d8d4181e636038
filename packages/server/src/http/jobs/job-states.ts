/**
 * Where followed jobs stand. Each follower asks for its job alone and often; the store is asked for all of them together,
 * one question at a time, so that however many jobs are followed, requests find connections free.
 */
import { setImmediate } from "node:timers/promises";
import type { JobState } from "../../store/queries/jobs/jobs.ts";

type Ask = (ids: readonly string[]) => Promise<Map<string, JobState>>;
type Answer = PromiseWithResolvers<JobState | undefined>;

/** Jobs of one question. */
const atOnce = 500;

export class JobStates {
  readonly #ask: Ask;
  #wanted = new Map<string, Answer>();
  #isAsking = false;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** As it is at some moment after this call; undefined: there is no such job. */
  of(id: string): Promise<JobState | undefined> {
    const answer = this.#wanted.get(id) ?? Promise.withResolvers<JobState | undefined>();
    this.#wanted.set(id, answer);
    if (!this.#isAsking) void this.#askAll();
    return answer.promise;
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    while (this.#wanted.size > 0) {
      // Timers of many followers end in the same turn.
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
