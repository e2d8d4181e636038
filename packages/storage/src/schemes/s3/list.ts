/** Lists objects, or versions of objects, page by page. */
import { parseAnswer } from "../../http/parse-answer.ts";
import type { Page, PageCall } from "../../listing/pages.ts";
import type { S3Client } from "./client.ts";
import { decodeKey, readPage } from "./page-bytes.ts";

export async function fetchPage(client: S3Client, call: PageCall): Promise<Page> {
  const query = call.versions ? versionsQuery(call) : keysQuery(call);
  const root = call.versions ? "ListVersionsResult" : "ListBucketResult";
  const bytes = await client.sendForBytes({ call: "list", method: "GET", key: "", query, root, signal: call.signal });
  return parseAnswer(client.place(""), () => (call.versions ? parseVersions(bytes) : parseKeys(bytes)));
}

/** Returns the query of a page of keys. Requests encoded keys, because XML cannot hold every character of a key. */
function keysQuery(call: PageCall): Record<string, string> {
  const query: Record<string, string> = { "list-type": "2", "encoding-type": "url", prefix: call.prefix };
  if (call.delimiter !== undefined) query["delimiter"] = call.delimiter;
  if (call.limit !== undefined) query["max-keys"] = String(call.limit);
  if (call.token !== undefined) query["continuation-token"] = call.token;
  else if (call.startAfter !== undefined) query["start-after"] = call.startAfter;
  return query;
}

/**
 * Returns the query of a page of versions. The token of a page contains the key and the version id at which the page
 * begins.
 */
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

function parseKeys(bytes: Uint8Array): Page {
  const { entries, members } = readPage(bytes, "Contents");
  const next = members["NextContinuationToken"];
  if (members["IsTruncated"] === "true" && next === undefined) throw noWayOn();
  return { entries, next };
}

/** The rest of a listing would otherwise count as not there. */
const noWayOn = () => new Error("the page says that more keys follow, but not where the next page begins");

/** Parses a page of versions. Leaves out delete markers, which are not objects. */
function parseVersions(bytes: Uint8Array): Page {
  const { entries, members } = readPage(bytes, "Version");
  const key = members["NextKeyMarker"];
  if (members["IsTruncated"] !== "true") return { entries, next: undefined };
  if (key === undefined) throw noWayOn();
  const reached = members["EncodingType"] === "url" ? decodeKey(key) : key;
  return { entries, reached, next: JSON.stringify([reached, members["NextVersionIdMarker"] ?? ""]) };
}
