/** What a store that answers in pages is asked for, and gives. */
import type { CallOptions, Entry } from "../backend.ts";

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
