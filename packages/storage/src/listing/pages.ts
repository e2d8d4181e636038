/** Requests and results of stores that answer in pages. */
import type { CallOptions, Entry } from "../backend.ts";
import { StorageError } from "../errors.ts";

export interface PageCall extends CallOptions {
  readonly prefix: string;
  readonly delimiter?: string | undefined;
  readonly startAfter?: string | undefined;
  readonly versions?: boolean | undefined;
  /** Continuation token that the previous page returned. */
  readonly token?: string | undefined;
  /** Maximum number of entries in a page; by default the store decides. */
  readonly limit?: number | undefined;
}

export interface Page {
  /** Files, and with a delimiter also directories. */
  readonly entries: Entry[];
  readonly next: string | undefined;
  /**
   * The last key that the store examined. Set only by stores where this key may come after the last entry: a page may
   * contain nothing but delete markers, which are not entries.
   */
  readonly reached?: string;
}

/** Requests one page of a listing. This is the only call that a store must supply to be listed in pages. */
export type FetchPage = (call: PageCall) => Promise<Page>;

/**
 * Checks each page: all keys begin with the prefix, which callers cut off, and the page leads to another one, so that
 * the listing ends.
 */
export const checkedPages =
  (fetch: FetchPage): FetchPage =>
  async (call) => {
    const page = await fetch(call);
    const other = page.entries.find(({ path }) => !path.startsWith(call.prefix));
    if (other)
      throw malformed(`it listed '${other.path.slice(0, 200)}', which does not begin with the prefix '${call.prefix}'`);
    if (page.next !== undefined && page.next === call.token) throw malformed("a page leads to itself");
    return page;
  };

const malformed = (what: string) => new StorageError("failed", `the store's answer to a listing is malformed: ${what}`);
