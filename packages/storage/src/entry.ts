/**
 * Creates blank entries. All stores create their entries here, so that V8 sees a single object shape in lists of a
 * million entries.
 */
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

/** Makes the entry of a folder. The path must end with a slash. */
export const directoryEntry = (path: string): Entry => blankEntry("directory", path);
