/** Entries before anything is known of them: one shape for all stores, so that lists of a million have only one. */
import type { Entry } from "./backend.ts";
import { StorageError } from "./errors.ts";

export const blankEntry = (type: Entry["type"], path = ""): Entry => ({
  path,
  size: 0,
  etag: "",
  version: "",
  is_latest: true,
  last_modified: null,
  type,
});

/** The path ends with a slash. */
export const directoryEntry = (path: string): Entry => blankEntry("directory", path);

/** A size as a store tells it: everything that counts bytes relies on it. */
export function checkedSize(told: string | number, path: string): number {
  const size = typeof told === "number" || /^\d+$/.test(told) ? Number(told) : Number.NaN;
  if (Number.isSafeInteger(size) && size >= 0) return size;
  const said = JSON.stringify(String(told).slice(0, 40));
  throw new StorageError("failed", `${path}: the store tells a size of ${said}, which is no number of bytes`);
}
