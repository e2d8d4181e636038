/**
 * Removes runners from their cluster. A thousand jobs may be canceled at once: their removals go in few calls, a few at
 * a time, and nobody who ends an attempt waits for them.
 */
import type { Placer } from "./placer.ts";

/** The most runners in one call of `removeAll`. */
const mostTogether = 100;
/** The most calls of `remove` at a time. */
const mostAtOnce = 8;

interface Waiting {
  readonly handle: string | null;
  readonly removed: PromiseWithResolvers<void>;
}

export class RemovalTurns {
  readonly #placer: Placer;
  readonly #waiting = new Map<string, Waiting>();
  #isBusy = false;

  constructor(placer: Placer) {
    this.#placer = placer;
  }

  /** Removes a runner when its turn has come. Asking again before that asks once. */
  remove(key: string, handle: string | null): Promise<void> {
    const known = this.#waiting.get(key);
    if (known) return known.removed.promise;
    const removed = Promise.withResolvers<void>();
    this.#waiting.set(key, { handle, removed });
    if (!this.#isBusy) void this.#work();
    return removed.promise;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting].slice(0, this.#placer.removeAll ? mostTogether : mostAtOnce);
      for (const [key] of some) this.#waiting.delete(key);
      await this.#removeSome(some);
    }
    this.#isBusy = false;
  }

  async #removeSome(some: readonly (readonly [string, Waiting])[]): Promise<void> {
    const { removeAll } = this.#placer;
    const all = removeAll?.call(
      this.#placer,
      some.map(([key]) => key),
    );
    const asked = some.map(([key, { handle, removed }]) =>
      (all ?? this.#placer.remove(key, handle)).then(removed.resolve, removed.reject),
    );
    await Promise.all(asked);
  }
}
