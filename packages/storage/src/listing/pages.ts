/** Requests and results of stores that answer in pages. */
import type { CallOptions, Entry } from "../backend.ts";

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
