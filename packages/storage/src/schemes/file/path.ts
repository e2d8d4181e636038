/**
 * Checks that a key is a plain path. The file system would silently take other keys, such as `a/../b`, for other paths.
 */
import { StorageError } from "../../errors.ts";

/**
 * Returns the key. Throws if it contains an empty segment, a segment `.` or `..`, or a zero byte, or if it ends with a
 * slash.
 */
export function checkPath(key: string): string {
  const segments = key.split("/").slice(1);
  const odd = segments.find((segment) => segment === "" || segment === "." || segment === "..");
  if ((odd === undefined || key === "/") && !key.includes("\0")) return key;
  throw new StorageError(
    "invalid",
    `${JSON.stringify(key)} is not a valid file path: it must not end with a slash, and must not contain an empty segment, a segment . or .., or a NUL character`,
    { scheme: "file", key },
  );
}
