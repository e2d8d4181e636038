/** A sliding window over work: a slow piece holds up nobody but itself, and no more than so many run at once. */

/** Runs all, in any order; after a failure starts no more, waits for those that run, and rejects with the first. */
export async function runAll<T>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      const task: Promise<void> = run(item)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(task));
      running.add(task);
      if (running.size >= width) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
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
