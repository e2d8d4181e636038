/** Long lists in pieces: neither store takes any number of values in one statement. */

const atOnce = 500;

export function* parts<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += atOnce) yield values.slice(start, start + atOnce);
}

/** Everybody else has a turn: a statement of SQLite holds the event loop, however many follow each other. */
export const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Piece by piece, and with turns for everybody else between them. */
export async function eachPart<T>(values: readonly T[], work: (part: readonly T[]) => Promise<unknown>): Promise<void> {
  let first = true;
  for (const part of parts(values)) {
    if (!first) await nextTurn();
    first = false;
    await work(part);
  }
}
