/** A queue for each caller. Callers take turns (round robin), and the items of one caller are first in, first out. */
export class Lines<T> {
  /** Queues by caller. The caller whose turn is next comes first. */
  readonly #byCaller = new Map<unknown, T[]>();

  get isEmpty(): boolean {
    return this.#byCaller.size === 0;
  }

  add(caller: unknown, item: T): void {
    const own = this.#byCaller.get(caller);
    if (own) own.push(item);
    else this.#byCaller.set(caller, [item]);
  }

  /** Puts an item back that was taken. The next call of `take` returns it. */
  putBack(caller: unknown, item: T): void {
    const others = [...this.#byCaller].filter(([other]) => other !== caller);
    const own = [item, ...(this.#byCaller.get(caller) ?? [])];
    this.#byCaller.clear();
    for (const [other, line] of [[caller, own] as const, ...others]) this.#byCaller.set(other, line);
  }

  /** Takes the next item and moves its caller to the end. Returns undefined if all queues are empty. */
  take(): T | undefined {
    for (const [caller, own] of this.#byCaller) {
      const item = own.shift();
      this.#byCaller.delete(caller);
      if (own.length > 0) this.#byCaller.set(caller, own);
      return item;
    }
    return undefined;
  }
}
