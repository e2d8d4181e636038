/** Shared by all kinds of load: calls that are repeated until they are answered, and a list of inexcusable failures. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "@millrace/contract";
import type { Moments } from "./moments.ts";
import type { Subject } from "./subject.ts";
import type { Timeline } from "./timeline.ts";

/** Answers that a fault excuses: the token is not valid by a wrong clock, too busy, unavailable, no disk space. */
const excusable = [401, 429, 503, 507];

export class Load {
  readonly subject: Subject;
  readonly timeline: Timeline;
  readonly random: Moments;
  /** Aborted when no new work should begin. */
  readonly stop: AbortSignal;
  /** Aborted when everything is over and nothing should wait any more. */
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

  /** Repeats an action until the load ends, with pauses in between. */
  async repeat(pause: readonly [number, number], work: () => Promise<void>): Promise<void> {
    while (!this.stop.aborted) {
      await work();
      await sleep(this.random.between(...pause), undefined, { signal: this.stop }).catch(() => {});
    }
  }
}
