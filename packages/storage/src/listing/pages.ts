/** Requests and results of stores that answer in pages. */
import type { CallOptions, Entry } from "../backend.ts";

export interface PageCall extends CallOptions {
  readonly prefix: string;
  readonly delimiter?: string | undefined;
  readonly startAfter?: string | undefined;
  readonly versions?: boolean | undefined;
  /** Continuation token of the page before. */
  readonly token?: string | undefined;
  /** Maximum entries in a page; by default the store decides. */
  readonly limit?: number | undefined;
}

export interface Page {
  /** Files, and with a delimiter also directories. */
  readonly entries: Entry[];
  readonly next: string | undefined;
  /**
   * The last key that the store examined, if it may differ from the last entry: a page may hold only delete markers.
   */
  readonly reached?: string;
}

/** The one call that such a store must supply. */
export type FetchPage = (call: PageCall) => Promise<Page>;
