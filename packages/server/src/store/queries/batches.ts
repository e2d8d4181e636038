/** Long lists in pieces: neither store takes any number of values in one statement. */

const atOnce = 500;

export function* parts<T>(values: readonly T[], size = atOnce): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size);
}

/** Everybody else has a turn: a statement of SQLite holds the event loop, however many follow each other. */
export const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Piece by piece, and with turns for everybody else between them. */
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
