/** A sliding window over work: a slow piece holds up nobody but itself, and no more than so many run at once. */
import { checkCount } from "../check-count.ts";
import { iteratorOf } from "./iterator-of.ts";

/**
 * Runs all, in any order. After a failure it starts no more, waits for those that run, and rejects with the first; a
 * source that is slow to give the next item does not hold that up.
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
    // Not waited for: a source that hangs would hang us.
    source.return?.().catch(() => {});
    throw error;
  } finally {
    await tasks.allEnded();
  }
}

/** Work that runs. Who waits is woken by whatever ends next, and told of the first failure. */
class Tasks {
  readonly #running = new Set<Promise<void>>();
  #failure: { error: unknown } | undefined;
  /** A new one for each end: reactions on a single promise would pile up as long as it lives. */
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

  /** Waits for something else, unless a task fails before. */
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

/** Yields results in the order of the items, while up to `width` of the next ones are being made. */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  try {
    for await (const item of items) {
      const task = run(item);
      // A failure is met when its turn comes; until then nobody listens.
      task.catch(() => {});
      running.push(task);
      if (running.length >= width) yield await (running.shift() as Promise<R>);
    }
    while (running.length > 0) yield await (running.shift() as Promise<R>);
  } finally {
    await Promise.allSettled(running);
  }
}
