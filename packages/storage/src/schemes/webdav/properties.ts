/** Requests properties of files and folders with PROPFIND, and parses the XML. */
import { etagOfTime } from "../../address/tree-path.ts";
import type { CallOptions, Entry } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { unquoted } from "../../http/entry-from-headers.ts";
import { parseAnswer } from "../../http/parse-answer.ts";
import { decodeText, requireRoot } from "../../http/xml.ts";
import type { DavClient } from "./client.ts";

const question = Buffer.from(
  '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>' +
    "<D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:propfind>",
);

/** Returns entries for the key itself and, with depth 1, also for its children. */
export async function properties(client: DavClient, key: string, depth: 0 | 1, call: CallOptions): Promise<Entry[]> {
  const headers = { depth: String(depth), "content-type": "application/xml; charset=utf-8" };
  const answer = await client.send({ method: "PROPFIND", key, headers, body: question, signal: call.signal });
  const xml = await answer.text();
  requireRoot(xml, "multistatus", client.place(key));
  return parseAnswer(client.place(key), () => Array.from(responses(xml), toEntry));
}

/**
 * Matches the opening tag of a `response` element. It may have any namespace prefix, because servers choose their own.
 */
const opening = /<(?:[\w.-]+:)?response(?:\s[^<>]*)?>/g;
const closing = /<\/(?:[\w.-]+:)?response\s*>/g;

/**
 * Yields the content of each `response` element. Scans each character only once, even in malformed XML: an element
 * without a closing tag ends the scan.
 */
function* responses(xml: string): Generator<string> {
  for (let at = 0; ; at = closing.lastIndex) {
    opening.lastIndex = at;
    if (!opening.test(xml)) return;
    const start = opening.lastIndex;
    closing.lastIndex = start;
    const end = closing.exec(xml);
    if (!end) return;
    yield xml.slice(start, end.index);
  }
}

function toEntry(response: string): Entry {
  const path = keyOf(textOf(response, "href") ?? "");
  if (/<(?:[\w.-]+:)?collection[\s/>]/.test(response)) {
    const folder = path === "" || path.endsWith("/") ? path : `${path}/`;
    return directoryEntry(folder);
  }
  const size = checkedSize(textOf(response, "getcontentlength") || "0", path);
  const modified = textOf(response, "getlastmodified");
  const last_modified = modified === undefined ? null : new Date(modified);
  const etag = unquoted(textOf(response, "getetag")) || etagOfTime(last_modified, size);
  return { ...blankEntry("file", path), size, etag, last_modified };
}

function textOf(xml: string, name: string): string | undefined {
  const found = new RegExp(`<(?:[\\w.-]+:)?${name}(?:\\s[^<>]*)?>(?:<!\\[CDATA\\[)?([^<]*?)(?:\\]\\]>)?</`).exec(xml);
  return found?.[1] === undefined ? undefined : decodeText(found[1]).trim();
}

/** Returns the key for an address in the answer. The address is percent-encoded, and is a full URL or a path. */
function keyOf(href: string): string {
  const path = href.replace(/^https?:\/\/[^/]*/i, "").replace(/^\/+/, "");
  return path.split("/").map(decode).join("/");
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
