/** A store that is only an array and returns listings in pages: tests try every split on it, without a server. */
import type { Entry } from "@millrace/storage";
import { compareKeys } from "../../src/listing/key-order.ts";
import type { FetchPage, Page, PageCall } from "../../src/listing/pages.ts";

const entry = (path: string, type: Entry["type"] = "file"): Entry => ({
  path,
  size: 1,
  etag: "",
  version: "",
  is_latest: true,
  last_modified: null,
  type,
});

/** Answers as S3 does, in pages of this size, with a delay. */
export function storeOf(keys: readonly string[], pageSize: number): { fetch: FetchPage; calls: PageCall[] } {
  const sorted = keys.toSorted(compareKeys);
  const calls: PageCall[] = [];
  const fetch = async (call: PageCall): Promise<Page> => {
    call.signal?.throwIfAborted();
    calls.push(call);
    await new Promise(setImmediate);
    const after = call.token ?? call.startAfter;
    const paths = new Map<string, string>();
    for (const key of sorted) {
      if (!key.startsWith(call.prefix) || (after !== undefined && compareKeys(key, after) <= 0)) continue;
      const slash = call.delimiter ? key.indexOf(call.delimiter, call.prefix.length) : -1;
      const path = slash < 0 ? key : key.slice(0, slash + 1);
      if (!paths.has(path) && paths.size === Math.min(call.limit ?? pageSize, pageSize)) {
        return { entries: entriesOf(paths), next: [...paths.values()].at(-1) };
      }
      paths.set(path, key);
    }
    return { entries: entriesOf(paths), next: undefined };
  };
  return { fetch, calls };
}

const entriesOf = (paths: Map<string, string>) =>
  [...paths.keys()].map((path) => entry(path, path.endsWith("/") ? "directory" : "file"));

const numbered = (count: number, name: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => name(index));

/** Trees that lead to different splits. */
export const shapes: Readonly<Record<string, readonly string[]>> = {
  "one flat folder of numbers": numbered(3000, (index) => `data/${String(index).padStart(6, "0")}`),
  "one flat folder of digests": numbered(3000, (index) => `data/${((index * 2654435761) >>> 0).toString(16)}`),
  "many small folders": numbered(3000, (index) => `data/${index % 500}/${index}`),
  "one full folder among small ones": numbered(3000, (index) => (index % 10 ? `data/m/${index}` : `data/${index}/x`)),
  "deep folders": numbered(3000, (index) => `data/a/b/c/${index % 3}/${index % 7}/${index}`),
  "letters beyond ASCII": numbered(1500, (index) => `data/${String.fromCodePoint(0x1f300 + (index % 99))}${index}é`),
  "keys that begin each other": numbered(1500, (index) => `data/${"k".repeat(1 + (index % 300))}${index}`),
  "files between folders": numbered(3000, (index) => {
    const folder = `data/${String(Math.floor(index / 45)).padStart(2, "0")}`;
    return index % 45 < 33 ? `${folder}/${index}` : `${folder}~${index}`;
  }),
};
