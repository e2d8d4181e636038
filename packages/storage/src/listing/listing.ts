/** Listing of stores that answer in pages: one after the other, or several ranges of keys at once. */
import type { CallOptions, Entry, ListCall } from "../backend.ts";
import { compareKeys } from "./key-order.ts";
import { listInParallel } from "./parallel-listing.ts";

export interface PageCall extends CallOptions {
  readonly prefix: string;
  readonly delimiter?: string | undefined;
  readonly startAfter?: string | undefined;
  readonly versions?: boolean | undefined;
  /** Where the page before ended. */
  readonly token?: string | undefined;
  /** Entries wanted at most; as many as the store gives when absent. */
  readonly limit?: number | undefined;
}

export interface Page {
  /** Files; directories, too, where there is a delimiter. */
  readonly entries: Entry[];
  readonly next: string | undefined;
  /** The last key that was looked at, where that need not be the last entry's: a page may hold only delete marks. */
  readonly reached?: string;
}

/** The one call that a store of this kind must supply. */
export type FetchPage = (call: PageCall) => Promise<Page>;

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
