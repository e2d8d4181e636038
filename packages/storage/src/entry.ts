/** Entries before anything is known of them: one shape for all stores, so that lists of a million have only one. */
import type { Entry } from "./backend.ts";

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
