/** What waits, in a line for each caller: callers take turns, and of one caller first come, first served. */
export class Lines<T> {
  /** The caller whose turn comes next is first. */
  readonly #byCaller = new Map<unknown, T[]>();

  get isEmpty(): boolean {
    return this.#byCaller.size === 0;
  }

  add(caller: unknown, item: T): void {
    const own = this.#byCaller.get(caller);
    if (own) own.push(item);
    else this.#byCaller.set(caller, [item]);
  }

  /** Puts an item back that was taken: it is the next. */
  putBack(caller: unknown, item: T): void {
    const others = [...this.#byCaller].filter(([other]) => other !== caller);
    const own = [item, ...(this.#byCaller.get(caller) ?? [])];
    this.#byCaller.clear();
    for (const [other, line] of [[caller, own] as const, ...others]) this.#byCaller.set(other, line);
  }

  /** Takes the next item; its caller comes last from then on. */
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
