/**
 * Large answers are built in stretches. Before each the event loop goes round, and in one round a single stretch of all
 * answers is built, callers in turn: whoever asks for something small waits for one of them, however many ask for much.
 */
import { type Asker, askedBy, currentAsker, requireStillThere } from "./asker.ts";
import { Turns } from "./turns.ts";

/** Bytes that are read and written without a break. */
export const stretchBytes = 512 * 1024;

/** One for the process, as the event loop is. */
const turns = new Turns(1);

/** Large answers that are under way at a time, of all and of one caller: each takes memory until it is whole. */
const places = new Turns(8, 2);

/** What builds an answer for this caller. */
export async function answering<T>(asker: Omit<Asker, "leave">, build: () => Promise<T>): Promise<T> {
  const placed: Asker = { ...asker };
  try {
    return await askedBy(placed, build);
  } finally {
    placed.leave?.();
  }
}

/** Resolves with what gives the place back. */
const takePlace = (caller: unknown): Promise<() => void> =>
  new Promise((taken) => void places.run(() => new Promise<void>(taken), caller));

/** Resolves when it is this answer's turn: its first waits for a place. */
export async function nextStretch(): Promise<void> {
  const asker = currentAsker();
  if (asker) asker.leave ??= await takePlace(asker.caller);
  await nextLook();
}

/** The same for whoever looks for something, and keeps little of it. Nothing more is done for a caller that has gone. */
export async function nextLook(): Promise<void> {
  const asker = currentAsker();
  await turns.run(async () => {}, asker?.caller);
  requireStillThere(asker);
}

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
