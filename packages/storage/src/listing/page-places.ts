/**
 * Slots for pages that are being fetched or wait for the caller. On a slow network, there are as many slots as allowed
 * requests. If this process is busy all the time, there are fewer slots. More requests would then only take more
 * memory, because each page would live longer and V8 would grow its young generation.
 */
import { type EventLoopUtilization, performance } from "node:perf_hooks";

const fewest = 4;

/** If this process is busy for more than this share of the time, the process is the bottleneck, not the network. */
const busy = 0.8;

export class PagePlaces {
  readonly #most: number;
  #allowed: number;
  #taken = 0;
  #before: EventLoopUtilization = performance.eventLoopUtilization();
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
    this.#allowed = Math.min(most, fewest);
  }

  async take(): Promise<void> {
    if (this.#taken < this.#allowed) this.#taken += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Frees the slot of a page that the caller has received. */
  give(): void {
    this.#taken -= 1;
    this.#adapt();
    while (this.#taken < this.#allowed && this.#waiting.length > 0) {
      this.#taken += 1;
      this.#waiting.shift()?.();
    }
  }

  #adapt(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    const wanted = this.#allowed + (utilization > busy ? -1 : 2);
    this.#allowed = Math.min(this.#most, Math.max(fewest, wanted));
  }
}
