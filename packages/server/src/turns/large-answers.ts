/**
 * Builds large answers in stretches of limited size, so that they do not block the event loop. Between two stretches,
 * of the same or of different answers, the event loop runs other work, and callers take turns. So a small request waits
 * for at most one stretch.
 */
import { type Asker, askedBy, currentAsker, requireStillThere } from "./asker.ts";
import { Turns } from "./turns.ts";

/** Size of a stretch in bytes: the part of an answer that is built without yielding to the event loop. */
export const stretchBytes = 512 * 1024;

/** Queue of all stretches. Only one is built at a time, because the process has one event loop. */
const turns = new Turns(1);

/**
 * Slots for large answers. At most eight large answers are built at a time, at most two of them for one team, because
 * each answer is held in memory. If one takes longer than ten seconds, others need not wait for it.
 */
const places = new Turns(8, 2, 10_000);

/**
 * Slots for lists that may have many entries. Most are short and quick, so others need not wait long for one that is
 * not, such as a search.
 */
const listPlaces = new Turns(8, 2, 2000);

/**
 * Slots for pages of logs, which are held in memory, too. A page may wait for the remote storage of a log; after ten
 * seconds others need not wait with it.
 */
const logPlaces = new Turns(8, 2, 10_000);

/**
 * Builds an answer on behalf of a request. If the answer took a slot for large answers, releases the slot at the end.
 */
export async function answering<T>(asker: Omit<Asker, "leave">, build: () => Promise<T>): Promise<T> {
  const placed: Asker = { ...asker };
  try {
    return await askedBy(placed, build);
  } finally {
    placed.leave?.();
  }
}

/** Waits for a slot. Resolves with a function that releases the slot. Teams take turns, and so do their members. */
const takePlace = (slots: Turns, { team, caller }: Asker): Promise<() => void> =>
  new Promise((taken) => {
    void slots.run(() => new Promise<void>(taken), team === undefined ? caller : `team ${team}`, caller);
  });

/** Waits for a slot, if the current request has none yet, and until the next stretch may be built. */
async function nextIn(slots: Turns): Promise<void> {
  const asker = currentAsker();
  if (asker) asker.leave ??= await takePlace(slots, asker);
  await nextLook();
}

/**
 * Waits until the next stretch of the current answer may be built. The first stretch also waits for a slot for large
 * answers.
 */
export const nextStretch = () => nextIn(places);

/** Waits until a list that may have many entries may be built, and for a slot for such lists. */
export const nextList = () => nextIn(listPlaces);

/** Waits until the next part of a page of a log may be read. The first part also waits for a slot for such pages. */
export const nextPart = () => nextIn(logPlaces);

/**
 * Yields to the event loop during a long search. The search needs little memory, so it takes none of the slots for
 * large answers. Throws if the caller has disconnected.
 */
export async function nextLook(): Promise<void> {
  const asker = currentAsker();
  await turns.run(async () => {}, asker?.caller);
  requireStillThere(asker);
}

/**
 * Splits items into groups of at most `stretchBytes` each. An item that is larger than that forms a group of its own.
 */
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
