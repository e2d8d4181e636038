/** Pages of keys and of versions. */
import type { Entry } from "../../backend.ts";
import type { Page, PageCall } from "../../listing.ts";
import type { S3Client } from "./client.ts";
import { elements, elementText } from "./xml.ts";

export async function fetchPage(client: S3Client, call: PageCall): Promise<Page> {
  const query = call.versions ? versionsQuery(call) : keysQuery(call);
  const xml = await client.sendForText({ call: "list", method: "GET", key: "", query, signal: call.signal });
  return call.versions ? parseVersions(xml) : parseKeys(xml);
}

/** Encoded keys: XML cannot hold every character that a key may have. */
function keysQuery(call: PageCall): Record<string, string> {
  const query: Record<string, string> = { "list-type": "2", "encoding-type": "url", prefix: call.prefix };
  if (call.delimiter !== undefined) query["delimiter"] = call.delimiter;
  if (call.limit !== undefined) query["max-keys"] = String(call.limit);
  if (call.token !== undefined) query["continuation-token"] = call.token;
  else if (call.startAfter !== undefined) query["start-after"] = call.startAfter;
  return query;
}

/** A page of versions is continued at a key and a version: both are kept in one token. */
function versionsQuery(call: PageCall): Record<string, string> {
  const query: Record<string, string> = { versions: "", "encoding-type": "url", prefix: call.prefix };
  if (call.delimiter !== undefined) query["delimiter"] = call.delimiter;
  if (call.limit !== undefined) query["max-keys"] = String(call.limit);
  if (call.token !== undefined) {
    const [key, version] = JSON.parse(call.token) as [string, string];
    query["key-marker"] = key;
    if (version !== "") query["version-id-marker"] = version;
  } else if (call.startAfter !== undefined) query["key-marker"] = call.startAfter;
  return query;
}

type Decode = (key: string) => string;

/** What surrounds the entries is small, and stands before or after them: it is looked for there only. */
function decoderOf(xml: string): Decode {
  return xml.includes("<EncodingType>url</EncodingType>") ? decodeKey : (key) => key;
}

const decodeKey = (text: string) => (/[%+]/.test(text) ? decodeURIComponent(text.replaceAll("+", "%20")) : text);

function parseKeys(xml: string): Page {
  const decode = decoderOf(xml);
  const entries: Entry[] = [];
  for (const { start, end } of elements(xml, "Contents")) entries.push(parseEntry(xml, start, end, decode));
  for (const { start, end } of elements(xml, "CommonPrefixes")) entries.push(parseFolder(xml, start, end, decode));
  return { entries, next: elementText(xml, "NextContinuationToken") };
}

/** Delete marks are no objects: they are left out. */
function parseVersions(xml: string): Page {
  const decode = decoderOf(xml);
  const entries: Entry[] = [];
  for (const { start, end } of elements(xml, "Version")) {
    const entry = parseEntry(xml, start, end, decode);
    const version = elementText(xml, "VersionId", start, end) ?? "";
    entry.version = version === "null" ? "" : version;
    entry.is_latest = elementText(xml, "IsLatest", start, end) === "true";
    entries.push(entry);
  }
  for (const { start, end } of elements(xml, "CommonPrefixes")) entries.push(parseFolder(xml, start, end, decode));
  const key = elementText(xml, "NextKeyMarker");
  if (elementText(xml, "IsTruncated") !== "true" || key === undefined) return { entries, next: undefined };
  return { entries, next: JSON.stringify([decode(key), elementText(xml, "NextVersionIdMarker") ?? ""]) };
}

function parseEntry(xml: string, start: number, end: number, decode: Decode): Entry {
  const modified = elementText(xml, "LastModified", start, end);
  return {
    path: decode(elementText(xml, "Key", start, end) ?? ""),
    size: Number(elementText(xml, "Size", start, end)),
    etag: (elementText(xml, "ETag", start, end) ?? "").replaceAll('"', ""),
    version: "",
    is_latest: true,
    last_modified: modified === undefined ? null : new Date(modified),
    type: "file",
  };
}

const parseFolder = (xml: string, start: number, end: number, decode: Decode): Entry => ({
  path: decode(elementText(xml, "Prefix", start, end) ?? ""),
  size: 0,
  etag: "",
  version: "",
  is_latest: true,
  last_modified: null,
  type: "directory",
});
