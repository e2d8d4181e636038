/** Builds an entry from the headers of an answer. */
import type { Entry } from "../backend.ts";
import { checkedSize } from "../check-count.ts";
import type { HttpAnswer } from "./messages.ts";

export function entryFromHeaders(path: string, answer: HttpAnswer, version = ""): Entry {
  const modified = answer.header("last-modified");
  return {
    path,
    size: sizeFromHeaders(path, answer) ?? 0,
    etag: unquoted(answer.header("etag")),
    version,
    is_latest: true,
    last_modified: modified === undefined ? null : new Date(modified),
    type: "file",
  };
}

/**
 * Returns the size of the whole object in bytes, even if only a range was sent. Returns undefined if the server does
 * not send the size.
 */
export function sizeFromHeaders(path: string, answer: HttpAnswer): number | undefined {
  const size = answer.header("content-range")?.split("/")[1] ?? answer.header("content-length");
  // A star means that the server does not know the size.
  return size === undefined || size === "*" ? undefined : checkedSize(size, path);
}

/** Returns an ETag without quotes, the form that is compared and shown. */
export const unquoted = (etag = "") => etag.replaceAll('"', "");
