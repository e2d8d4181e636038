/** Pages of keys and of versions. */
import type { Entry } from "../../backend.ts";
import type { Page, PageCall } from "../../listing.ts";
import type { S3Client } from "./client.ts";
import { decodeText, elements, elementText } from "./xml.ts";

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

const decoderOf = (xml: string): Decode =>
  xml.includes("<EncodingType>url</EncodingType>") ? decodeKey : (key) => decodeText(key);

/** Encoded text has no entities. */
const decodeKey = (text: string) =>
  text.includes("%") || text.includes("+") ? decodeURIComponent(text.replaceAll("+", "%20")) : text;

function parseKeys(xml: string): Page {
  const entries = parseEntries(xml, "Contents");
  return { entries, next: elementText(xml, "NextContinuationToken") };
}

/** Delete marks are no objects: they are left out. */
function parseVersions(xml: string): Page {
  const entries = parseEntries(xml, "Version");
  const key = elementText(xml, "NextKeyMarker");
  if (elementText(xml, "IsTruncated") !== "true" || key === undefined) return { entries, next: undefined };
  const reached = decoderOf(xml)(key);
  return { entries, reached, next: JSON.stringify([reached, elementText(xml, "NextVersionIdMarker") ?? ""]) };
}

function parseEntries(xml: string, name: string): Entry[] {
  const decode = decoderOf(xml);
  const entries: Entry[] = [];
  for (const { start, end } of elements(xml, name)) entries.push(parseEntry(xml, start, end, decode));
  for (const { start, end } of elements(xml, "CommonPrefixes")) entries.push(parseFolder(xml, start, end, decode));
  return entries;
}

/** One walk over the tags, told apart by a letter or two: whoever searched for each would read a page five times. */
function parseEntry(xml: string, start: number, end: number, decode: Decode): Entry {
  const entry = blankEntry("file");
  for (let at = start; at < end; ) {
    const open = xml.indexOf("<", at);
    const from = xml.indexOf(">", open) + 1;
    const to = xml.indexOf("<", from);
    setMember(entry, xml.slice(open + 1, open + 3), xml.slice(from, to), decode);
    at = xml.indexOf(">", to) + 1;
  }
  return entry;
}

function setMember(entry: Entry, tag: string, text: string, decode: Decode): void {
  if (tag === "Ke") entry.path = decode(text);
  else if (tag === "La") entry.last_modified = new Date(text);
  else if (tag === "ET") entry.etag = withoutQuotes(text);
  else if (tag === "Si") entry.size = Number(text);
  else if (tag === "Ve") entry.version = text === "null" ? "" : text;
  else if (tag === "Is") entry.is_latest = text === "true";
}

const quote = "&quot;";

const withoutQuotes = (text: string) =>
  text.startsWith(quote) ? text.slice(quote.length, -quote.length) : decodeText(text).replaceAll('"', "");

const parseFolder = (xml: string, start: number, end: number, decode: Decode): Entry => ({
  ...blankEntry("directory"),
  path: decode(xml.slice(xml.indexOf(">", start) + 1, xml.lastIndexOf("</", end - 1))),
});

const blankEntry = (type: Entry["type"]): Entry => ({
  path: "",
  size: 0,
  etag: "",
  version: "",
  is_latest: true,
  last_modified: null,
  type,
});
