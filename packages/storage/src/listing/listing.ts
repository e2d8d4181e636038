/** Lists stores that answer in pages: one page after the other, or several ranges of keys at once. */
import type { Entry, ListCall } from "../backend.ts";
import { compareKeys } from "./key-order.ts";
import { checkedPages, type FetchPage, type Page, type PageCall } from "./pages.ts";
import { listInParallel } from "./parallel-listing.ts";

/** Default maximum number of requests at once. */
export const defaultConcurrency = 16;

/** Implements a backend's `list` on top of pages. */
export function listPages(fetchPage: FetchPage, prefix: string, call: ListCall): AsyncIterable<Entry[]> {
  const { ordered, concurrency = defaultConcurrency, ...rest } = call;
  const request = { ...rest, prefix };
  const fetch = checkedPages(fetchPage);
  if (ordered || call.delimiter || concurrency <= 1) return listInOrder(fetch, request);
  return listInParallel(fetch, request, concurrency);
}

/**
 * Lists one page after the other. Requests the next page before yielding the current page, so that store and caller
 * work at the same time.
 */
export async function* listInOrder(fetch: FetchPage, call: PageCall): AsyncGenerator<Entry[]> {
  let coming: Promise<Page> | undefined = fetch(call);
  while (coming) {
    const page: Page = await coming;
    coming = page.next === undefined ? undefined : fetch({ ...call, token: page.next });
    // A failure is thrown when its turn comes, or ignored if the caller has stopped.
    coming?.catch(() => {});
    if (call.delimiter) page.entries.sort((a, b) => compareKeys(a.path, b.path));
    yield page.entries;
  }
}
