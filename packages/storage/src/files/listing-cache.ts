/**
 * Caches listings for a limited time. A cached listing also answers requests for the folders within it. It may be
 * stale, so listings are cached only for callers who create such a cache. Use one cache per set of credentials.
 */
import type { Entry } from "../backend.ts";

interface Kept {
  readonly source: string;
  readonly prefix: string;
  readonly entries: readonly Entry[];
  readonly until: number;
}

const fourHours = 4 * 3600;

export class ListingCache {
  readonly #lifetime: number;
  readonly #now: () => number;
  #kept: Kept[] = [];

  /** `seconds`: lifetime of a listing; four hours by default. */
  constructor({ seconds = fourHours, now = Date.now }: { seconds?: number; now?: () => number } = {}) {
    this.#lifetime = seconds * 1000;
    this.#now = now;
  }

  /**
   * Returns everything below a prefix, from a cached listing of the prefix or of a parent folder. Returns undefined if
   * no such listing is cached.
   */
  find(source: string, prefix: string): Entry[] | undefined {
    this.#kept = this.#kept.filter(({ until }) => until > this.#now());
    const found = this.#kept.find((kept) => kept.source === source && prefix.startsWith(kept.prefix));
    return found?.entries.filter(({ path }) => path.startsWith(prefix)).map((entry) => ({ ...entry }));
  }

  /** Adds a listing. Removes cached listings of the same prefix and of folders within it. */
  keep(source: string, prefix: string, entries: readonly Entry[]): void {
    this.#kept = this.#kept.filter((kept) => kept.source !== source || !kept.prefix.startsWith(prefix));
    this.#kept.unshift({ source, prefix, entries, until: this.#now() + this.#lifetime });
  }
}
