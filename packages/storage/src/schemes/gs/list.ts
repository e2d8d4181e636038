/** Lists objects, or generations of objects, page by page. */
import { directoryEntry } from "../../entry.ts";
import { parseAnswer } from "../../http/parse-answer.ts";
import type { Page, PageCall } from "../../listing/pages.ts";
import type { GsClient } from "./client.ts";
import { entryFields, type ObjectResource, toEntry } from "./object-resource.ts";

interface ObjectList {
  readonly kind?: string;
  readonly items?: readonly ObjectResource[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

export async function fetchPage(client: GsClient, call: PageCall): Promise<Page> {
  const path = client.listPath;
  const query = queryOf(call);
  const list = await client.sendForJson<ObjectList>({ method: "GET", path, key: "", query, signal: call.signal });
  const entries = parseAnswer(client.place(""), () => {
    const { kind, items, prefixes, nextPageToken } = list;
    // By its kind, an empty listing differs from the answer of something in place of the store.
    const isList = kind === "storage#objects" || (items ?? prefixes ?? nextPageToken) !== undefined;
    if (!isList) throw new Error("it is not a list of objects");
    return (list.items ?? []).map(toEntry);
  });
  for (const prefix of list.prefixes ?? []) entries.push(directoryEntry(prefix));
  return { entries: entries.filter(({ path: found }) => found !== call.startAfter), next: list.nextPageToken };
}

/**
 * Returns the query of a page. The store can only start at a key, not after a key. So if the number of entries is
 * limited, one entry more is requested, and the caller leaves out the key itself.
 */
function queryOf(call: PageCall): Record<string, string> {
  const fields = `kind,nextPageToken,prefixes,items(${entryFields})`;
  const query: Record<string, string> = { prefix: call.prefix, fields };
  if (call.delimiter !== undefined) query["delimiter"] = call.delimiter;
  if (call.versions) query["versions"] = "true";
  if (call.limit !== undefined) query["maxResults"] = String(call.limit + 1);
  if (call.startAfter !== undefined) query["startOffset"] = call.startAfter;
  if (call.token !== undefined) query["pageToken"] = call.token;
  return query;
}
