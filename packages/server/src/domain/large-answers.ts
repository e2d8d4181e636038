/**
 * Large answers are built in stretches. Before each the event loop goes round, and in one round a single stretch of all
 * answers is built: whoever asks for something small waits for one of them, however many callers ask for much.
 */
import { Turns } from "./turns.ts";

/** Bytes that are read and written without a break. */
export const stretchBytes = 512 * 1024;

/** One for the process, as the event loop is. */
const turns = new Turns(1);

/** Resolves when it is this answer's turn. */
export const nextStretch = (): Promise<void> => turns.run(async () => {});

/** Items in order, in runs that are a stretch each, or a single item that is larger. */
export function stretchesOf<T>(items: readonly T[], bytesOf: (item: T) => number): T[][] {
  const found: T[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    bytes += bytesOf(item);
    if (bytes > stretchBytes && found.at(-1)?.length) {
      found.push([]);
      bytes = bytesOf(item);
    }
    found.at(-1)?.push(item);
  }
  return found;
}
