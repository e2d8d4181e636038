/**
 * Finds where to split a range of keys in two. Splits between folders if there are any, otherwise between characters.
 */
import { commonStart, compareKeys } from "./key-order.ts";
import type { FetchPage, PageCall } from "./pages.ts";

interface Bounds {
  readonly after: string;
  readonly until: string | undefined;
}

const mostLevels = 6;
const mostProbes = 12;

/**
 * Returns a key at which to split a range. The key lies inside the bounds, and there are more keys of the range after
 * it. Returns undefined if a few requests find no such key.
 */
export async function findSplit(fetch: FetchPage, call: PageCall, bounds: Bounds): Promise<string | undefined> {
  const shared = bounds.until === undefined ? call.prefix : commonStart(bounds.after, bounds.until);
  let folder = shared.slice(0, Math.max(shared.lastIndexOf("/") + 1, call.prefix.length));
  for (let level = 0; level < mostLevels; level += 1) {
    const split = await middleFolder(fetch, call, folder, bounds);
    if (split !== undefined) return split;
    const slash = bounds.after.indexOf("/", folder.length);
    if (slash < 0) break;
    folder = bounds.after.slice(0, slash + 1);
  }
  return middleLetter(fetch, call, folder, bounds);
}

async function middleFolder(
  fetch: FetchPage,
  call: PageCall,
  folder: string,
  { after, until }: Bounds,
): Promise<string | undefined> {
  const { signal, versions } = call;
  const page = await fetch({ prefix: folder, delimiter: "/", startAfter: after, signal, versions });
  const folders = page.entries
    .filter(({ type, path }) => type === "directory" && !after.startsWith(path) && compareKeys(path, after) > 0)
    .filter(({ path }) => until === undefined || compareKeys(path, until) < 0);
  return folders[folders.length >> 1]?.path;
}

/** The code after the last printable ASCII character. Ranges of keys with higher characters are not split. */
const endOfLetters = 0x7f;

/**
 * Goes through the characters of the key that the listing has reached, and finds the first position at which there are
 * keys with a higher character. Returns a key to split at, or undefined if there is no such position.
 */
async function middleLetter(
  fetch: FetchPage,
  call: PageCall,
  folder: string,
  { after, until }: Bounds,
): Promise<string | undefined> {
  const shared = until === undefined ? folder : commonStart(after, until);
  const mostLetters = Math.min(after.length, shared.length + mostProbes);
  for (let length = shared.length; length < mostLetters; length += 1) {
    const start = after.slice(0, length);
    const low = after.charCodeAt(length) + 1;
    const high = Math.min(
      length === shared.length ? (until?.charCodeAt(length) ?? endOfLetters) : endOfLetters,
      endOfLetters,
    );
    const isSplit = (letter: number) => hasKeyAfter(fetch, call, start + String.fromCharCode(letter), until);
    if (low < high && (await isSplit(low))) return start + String.fromCharCode(await furthest(low, high, isSplit));
  }
  return undefined;
}

/**
 * Returns a character between `low` and `high` that has keys after it. Tries the middle, then the middle of the lower
 * half, and so on. If no other character has keys after it, returns `low`, which is known to have some.
 */
async function furthest(low: number, high: number, isSplit: (letter: number) => Promise<boolean>): Promise<number> {
  for (let letter = (low + high) >> 1; letter > low; letter = (low + letter) >> 1) {
    if (await isSplit(letter)) return letter;
  }
  return low;
}

async function hasKeyAfter(fetch: FetchPage, call: PageCall, key: string, until: string | undefined): Promise<boolean> {
  const { prefix, signal, versions } = call;
  const page = await fetch({ prefix, startAfter: key, limit: 1, signal, versions });
  const found = page.entries[0]?.path ?? page.reached;
  return found !== undefined && (until === undefined || compareKeys(found, until) <= 0);
}
