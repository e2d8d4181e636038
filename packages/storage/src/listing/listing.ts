/** Listing of stores that answer in pages: one after the other, or several ranges of keys at once. */
import type { Entry, ListCall } from "../backend.ts";
import { compareKeys } from "./key-order.ts";
import type { FetchPage, Page, PageCall } from "./pages.ts";
import { listInParallel } from "./parallel-listing.ts";

/** Requests at once. */
export const defaultConcurrency = 16;

/** The `list` of a backend, made from pages. */
export function listPages(fetch: FetchPage, prefix: string, call: ListCall): AsyncIterable<Entry[]> {
  const { ordered, concurrency = defaultConcurrency, ...rest } = call;
  const request = { ...rest, prefix };
  if (ordered || call.delimiter || concurrency <= 1) return listInOrder(fetch, request);
  return listInParallel(fetch, request, concurrency);
}

/** The next page is asked for before this one is looked at: the store works while the caller does. */
export async function* listInOrder(fetch: FetchPage, call: PageCall): AsyncGenerator<Entry[]> {
  let coming: Promise<Page> | undefined = fetch(call);
  while (coming) {
    const page: Page = await coming;
    coming = page.next === undefined ? undefined : fetch({ ...call, token: page.next });
    // Met when its turn comes, or by nobody, when the caller has seen enough.
    coming?.catch(() => {});
    if (call.delimiter) page.entries.sort((a, b) => compareKeys(a.path, b.path));
    yield page.entries;
  }
}
