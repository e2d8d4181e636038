/** What a server tells of files and folders: asked for with PROPFIND, and read from its XML. */
import { etagOfTime } from "../../address/tree-path.ts";
import type { CallOptions, Entry } from "../../backend.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { unquoted } from "../../http/told-entry.ts";
import { decodeText } from "../../http/xml.ts";
import type { DavClient } from "./client.ts";

const question = Buffer.from(
  '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>' +
    "<D:resourcetype/><D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:propfind>",
);

/** Of the key itself, or with depth 1 of what lies in it, too. */
export async function properties(client: DavClient, key: string, depth: 0 | 1, call: CallOptions): Promise<Entry[]> {
  const headers = { depth: String(depth), "content-type": "application/xml; charset=utf-8" };
  const answer = await client.send({ method: "PROPFIND", key, headers, body: question, signal: call.signal });
  return parseProperties(await answer.text());
}

/** Every server has its own prefix for the names. */
const responsePattern = /<(?:[\w.-]+:)?response(?:\s[^>]*)?>(.*?)<\/(?:[\w.-]+:)?response\s*>/gs;

function parseProperties(xml: string): Entry[] {
  return Array.from(xml.matchAll(responsePattern), ([, response = ""]) => toEntry(response));
}

function toEntry(response: string): Entry {
  const path = keyOf(textOf(response, "href") ?? "");
  if (/<(?:[\w.-]+:)?collection[\s/>]/.test(response)) {
    const folder = path === "" || path.endsWith("/") ? path : `${path}/`;
    return directoryEntry(folder);
  }
  const size = Number(textOf(response, "getcontentlength") ?? 0);
  const modified = textOf(response, "getlastmodified");
  const last_modified = modified === undefined ? null : new Date(modified);
  const etag = unquoted(textOf(response, "getetag")) || etagOfTime(last_modified, size);
  return { ...blankEntry("file", path), size, etag, last_modified };
}

function textOf(xml: string, name: string): string | undefined {
  const found = new RegExp(`<(?:[\\w.-]+:)?${name}(?:\\s[^>]*)?>(?:<!\\[CDATA\\[)?([^<]*?)(?:\\]\\]>)?</`).exec(xml);
  return found?.[1] === undefined ? undefined : decodeText(found[1]).trim();
}

/** An address may be whole, or a path; it is encoded. */
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
