/** Splits long lists into batches, because both databases limit the number of values in one statement. */

const atOnce = 500;

export function* parts<T>(values: readonly T[], size = atOnce): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size);
}

/**
 * Lets other work on the event loop run. Each SQLite statement blocks the event loop, so a series of statements needs
 * pauses.
 */
export const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Runs `work` on the list in batches, with a pause for the event loop between them. */
export async function eachPart<T>(
  values: readonly T[],
  work: (part: readonly T[]) => Promise<unknown>,
  size = atOnce,
): Promise<void> {
  let first = true;
  for (const part of parts(values, size)) {
    if (!first) await nextTurn();
    first = false;
    await work(part);
  }
}
