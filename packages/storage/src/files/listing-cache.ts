/**
 * Listings that are used again for a while, also for folders within them. Nothing is kept unless a caller makes one:
 * a listing that is out of date without anybody having asked for it is a trap. Use one for each set of credentials.
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

  /** `seconds`: how long a listing may be used; four hours when absent. */
  constructor({ seconds = fourHours, now = Date.now }: { seconds?: number; now?: () => number } = {}) {
    this.#lifetime = seconds * 1000;
    this.#now = now;
  }

  /** Everything below a prefix, from a listing of it or of a folder around it. */
  find(source: string, prefix: string): Entry[] | undefined {
    this.#kept = this.#kept.filter(({ until }) => until > this.#now());
    const found = this.#kept.find((kept) => kept.source === source && prefix.startsWith(kept.prefix));
    return found?.entries.filter(({ path }) => path.startsWith(prefix)).map((entry) => ({ ...entry }));
  }

  /** A newer listing takes the place of those that it holds. */
  keep(source: string, prefix: string, entries: readonly Entry[]): void {
    this.#kept = this.#kept.filter((kept) => kept.source !== source || !kept.prefix.startsWith(prefix));
    this.#kept.unshift({ source, prefix, entries, until: this.#now() + this.#lifetime });
  }
}
