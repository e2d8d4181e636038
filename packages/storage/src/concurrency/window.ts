/** A sliding window over work: a limited number of items are in progress at once, and a slow item delays no other. */
import { checkCount } from "../check-count.ts";
import { iteratorOf } from "./iterator-of.ts";

/**
 * Runs all items, in any order. After a failure, starts no more items, waits for the running ones, and rejects with the
 * first error. Does not wait for the next item of the source, which may never arrive.
 */
export async function runAll<T>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  checkCount("concurrency", width);
  const source = iteratorOf(items);
  const tasks = new Tasks();
  try {
    for (let next = await tasks.during(source.next()); !next.done; next = await tasks.during(source.next())) {
      tasks.add(run(next.value));
      await tasks.untilBelow(width);
    }
    await tasks.untilBelow(1);
  } catch (error) {
    // Not awaited: a source that hangs would block this function.
    source.return?.().catch(() => {});
    throw error;
  } finally {
    await tasks.allEnded();
  }
}

/** Running tasks. A waiter is woken when any of them ends, and receives the first error. */
class Tasks {
  readonly #running = new Set<Promise<void>>();
  #failure: { error: unknown } | undefined;
  /** Settled when a task ends, and then replaced, because reactions on a single long-lived promise would pile up. */
  #next = Promise.withResolvers<void>();

  add(work: Promise<void>): void {
    const task: Promise<void> = work.then(
      () => this.#ended(task),
      (error: unknown) => {
        this.#failure ??= { error };
        this.#ended(task);
      },
    );
    this.#running.add(task);
  }

  #ended(task: Promise<void>): void {
    this.#running.delete(task);
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  async untilBelow(count: number): Promise<void> {
    this.#throwFailure();
    while (this.#running.size >= count) {
      await this.#next.promise;
      this.#throwFailure();
    }
  }

  /** Waits for a promise that is not one of the tasks. If a task fails first, throws its error. */
  async during<R extends object>(coming: Promise<R>): Promise<R> {
    for (;;) {
      this.#throwFailure();
      const first = await Promise.race([coming, this.#next.promise]);
      if (first) return first;
    }
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/** Yields results in the order of the items. Up to `width` items are in progress at once. */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  try {
    for await (const item of items) {
      const task = run(item);
      // A failure is thrown when its turn comes; until then nobody handles it.
      task.catch(() => {});
      running.push(task);
      if (running.length >= width) yield await (running.shift() as Promise<R>);
    }
    while (running.length > 0) yield await (running.shift() as Promise<R>);
  } finally {
    await Promise.allSettled(running);
  }
}
