/**
 * Checks keys for stores with a folder tree. In such a store, some keys would silently lead to another path: `a/../b`,
 * for example, to `b`.
 */
import { StorageError } from "../errors.ts";
import { temporaryName } from "./temporary-name.ts";

/**
 * Returns the key. Throws if a name between its slashes is empty, `.` or `..`, or if the key contains a lone surrogate.
 * Also throws if the key matches `forbidden`: characters that the store's commands cannot contain.
 */
export function checkTreePath(scheme: string, key: string, forbidden = /\0/): string {
  const isOdd = key.split("/").some((name) => name === "" || name === "." || name === "..");
  if (!isOdd && key.isWellFormed() && !forbidden.test(key)) return key;
  throw new StorageError(
    "invalid",
    `${JSON.stringify(key)} is not a valid path on ${scheme}://. A path must not be empty, must not begin or end with a slash, and must not contain an empty segment, a segment . or .., half of a surrogate pair, or a name or character that ${scheme}:// does not allow`,
    { scheme, key },
  );
}

/** Returns the parent folders of a key, the outermost first. */
export function foldersOf(key: string): string[] {
  const names = key.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Returns the temporary key that a file is written to before it is moved to its final key. */
export function temporaryKey(key: string): string {
  const slash = key.lastIndexOf("/") + 1;
  return key.slice(0, slash) + temporaryName(key.slice(slash));
}

/** Returns an ETag made of modification time and size, for stores that have no ETags. */
export const etagOfTime = (modified: Date | null, size: number) =>
  `${Math.floor(Number(modified) / 1000).toString(16)}-${size.toString(16)}`;
