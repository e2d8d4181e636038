/** What the head of an answer tells of an object. */
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

/** Of the whole object, also where only a range was sent. */
export function sizeFromHeaders(path: string, answer: HttpAnswer): number | undefined {
  const size = answer.header("content-range")?.split("/")[1] ?? answer.header("content-length");
  // A star stands for a size that the server does not know.
  return size === undefined || size === "*" ? undefined : checkedSize(size, path);
}

/** An ETag as it is compared, and given to people. */
export const unquoted = (etag = "") => etag.replaceAll('"', "");
