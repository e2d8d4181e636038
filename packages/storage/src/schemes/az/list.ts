/** Lists blobs, or versions of blobs, page by page. */
import type { Entry } from "../../backend.ts";
import { parseAnswer } from "../../http/parse-answer.ts";
import { compareKeys } from "../../listing/key-order.ts";
import type { Page, PageCall } from "../../listing/pages.ts";
import { type AzClient, listRoot } from "./client.ts";
import { readPage } from "./page-bytes.ts";

export async function fetchPage(client: AzClient, call: PageCall): Promise<Page> {
  const query = queryOf(call);
  const bytes = await client.sendForBytes({ method: "GET", key: "", query, signal: call.signal }, listRoot);
  const { entries, next } = parseAnswer(client.place(""), () => readPage(bytes));
  const { startAfter } = call;
  // The store cannot start a listing after a given key, so it lists earlier keys too, which are left out here.
  const wanted = startAfter === undefined ? entries : entries.filter((entry) => isAfter(entry, startAfter));
  return { entries: wanted, next };
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
