/** What all kinds of load share: calls that go on until they are answered, and a list of what nothing excuses. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "@millrace/contract";
import type { Moments } from "./moments.ts";
import type { Subject } from "./subject.ts";
import type { Timeline } from "./timeline.ts";

/** Answers that tell of a fault: the token is not valid yet or any more by a wrong clock, too busy, away, no room. */
const excusable = [401, 429, 503, 507];

export class Load {
  readonly subject: Subject;
  readonly timeline: Timeline;
  readonly random: Moments;
  /** Aborted when no new work is to begin. */
  readonly stop: AbortSignal;
  /** Aborted when everything is over: nobody waits for anything any more. */
  readonly over: AbortSignal;
  readonly violations: string[] = [];
  calls = 0;

  constructor(
    subject: Subject,
    timeline: Timeline,
    random: Moments,
    { stop, over }: { stop: AbortSignal; over: AbortSignal },
  ) {
    this.subject = subject;
    this.timeline = timeline;
    this.random = random;
    this.stop = stop;
    this.over = over;
  }

  complain(text: string): void {
    this.violations.push(`${Math.round(performance.now() / 1000)} s: ${text}`);
  }

  /** Repeats a call as a patient client would. A connection may always be cut; any other failure needs a fault. */
  async persistently<T>(what: string, call: () => Promise<T>): Promise<T> {
    for (const deadline = performance.now() + 240_000; ; ) {
      const from = performance.now();
      try {
        this.calls++;
        return await call();
      } catch (error) {
        if (error instanceof ApiError) this.#judge(what, error, from);
        if (performance.now() > deadline || this.over.aborted)
          throw new Error(`${what} is not answered`, { cause: error });
        await sleep(100);
      }
    }
  }

  #judge(what: string, error: ApiError, from: number): void {
    const told = `${what}: ${error.status} ${error.message}`;
    if (!excusable.includes(error.status)) {
      this.complain(told);
      throw error;
    }
    if (!this.timeline.held(from, performance.now())) this.complain(`${told} (while no fault held)`);
  }

  /** Does something again and again until the load ends, with pauses in between. */
  async repeat(pause: readonly [number, number], work: () => Promise<void>): Promise<void> {
    while (!this.stop.aborted) {
      await work();
      await sleep(this.random.between(...pause), undefined, { signal: this.stop }).catch(() => {});
    }
  }
}
