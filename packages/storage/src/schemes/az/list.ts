/** Pages of blobs and of their versions. */
import type { Entry } from "../../backend.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { compareKeys } from "../../key-order.ts";
import type { Page, PageCall } from "../../listing.ts";
import { decodeText, elements, elementText } from "../../xml.ts";
import type { AzClient } from "./client.ts";

export async function fetchPage(client: AzClient, call: PageCall): Promise<Page> {
  const query = queryOf(call);
  const xml = await client.sendForText({ method: "GET", key: "", query, signal: call.signal });
  const { startAfter } = call;
  const entries = parseEntries(xml);
  // The store can only continue its own listings: what comes before is listed, and left out here.
  const wanted = startAfter === undefined ? entries : entries.filter((entry) => isAfter(entry, startAfter));
  return { entries: wanted, next: elementText(xml, "NextMarker") || undefined };
}

const isAfter = ({ path, type }: Entry, key: string) =>
  compareKeys(path, key) > 0 || (type === "directory" && key.startsWith(path));

function queryOf(call: PageCall): Record<string, string> {
  const query: Record<string, string> = { restype: "container", comp: "list", prefix: call.prefix };
  if (call.delimiter !== undefined) query["delimiter"] = call.delimiter;
  if (call.versions) query["include"] = "versions";
  if (call.limit !== undefined) query["maxresults"] = String(call.limit);
  if (call.token !== undefined) query["marker"] = call.token;
  return query;
}

function parseEntries(xml: string): Entry[] {
  const entries: Entry[] = [];
  for (const { start, end } of elements(xml, "Blob")) entries.push(parseBlob(xml.slice(start, end)));
  for (const { start, end } of elements(xml, "BlobPrefix")) {
    entries.push(directoryEntry(nameOf(xml.slice(start, end))));
  }
  return entries;
}

/** Only of the blob itself: in a whole page, an element that it lacks would be looked for as far as the next that has it. */
function parseBlob(xml: string): Entry {
  const entry = blankEntry("file");
  entry.path = nameOf(xml);
  entry.size = Number(elementText(xml, "Content-Length") ?? 0);
  entry.etag = (elementText(xml, "Etag") ?? "").replaceAll('"', "");
  entry.version = elementText(xml, "VersionId") ?? "";
  const modified = elementText(xml, "Last-Modified");
  if (modified !== undefined) entry.last_modified = new Date(modified);
  // Without versions there is nothing but the latest, and nothing says so.
  if (entry.version !== "") entry.is_latest = elementText(xml, "IsCurrentVersion") === "true";
  return entry;
}

/** A name that XML cannot hold is percent-encoded, and marked. */
function nameOf(xml: string): string {
  const open = xml.indexOf("<Name");
  if (open < 0) return "";
  const from = xml.indexOf(">", open) + 1;
  const text = xml.slice(from, xml.indexOf("</Name>", from));
  return xml.startsWith('<Name Encoded="true"', open) ? decodeURIComponent(text) : decodeText(text);
}
