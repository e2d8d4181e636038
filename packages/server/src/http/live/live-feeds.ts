/**
 * Collects the changes of each team that has followers, and tells them a few times a second: the first at once, the
 * rest together. All followers of a team share one feed, and mostly the same text.
 */
import type { Notice, NoticeKind } from "@millrace/contract";
import type { Change, Changes, DatabaseState } from "../../turns/changes.ts";

/** Milliseconds for which changes are collected before the first of them is told. */
const gatherMs = 30;
/** Minimum number of milliseconds between two notices. */
const pauseMs = 400;
/** Maximum number of ids of one kind in a notice. If there are more, the notice names none. */
const mostIds = 50;

/** Those of a kind that changed; undefined if they are not known or too many. */
type Collected = Map<NoticeKind, Set<string> | undefined>;

export interface FeedReader {
  /** Whether the reader gets notices of this kind. */
  hears(kind: NoticeKind): boolean;
  tell(notice: string): void;
  /** Called when the database of the server goes and when it comes back. */
  tellDatabase(state: DatabaseState): void;
  /** Called when the team or its members changed. */
  check(): void;
}

export class LiveFeeds {
  readonly #changes: Changes;
  readonly #feeds = new Map<number, LiveFeed>();

  constructor(changes: Changes) {
    this.#changes = changes;
    changes.watchDatabase((state) => {
      for (const { readers } of this.#feeds.values()) for (const reader of readers) reader.tellDatabase(state);
    });
  }

  /** Adds a reader to the feed of a team, and tells it what changed recently. Returns a function that removes it. */
  join(team: number, reader: FeedReader): () => void {
    const feed = this.#feeds.get(team) ?? new LiveFeed(this.#changes, team);
    this.#feeds.set(team, feed);
    feed.readers.add(reader);
    const recent: Collected = new Map(this.#changes.recent(team).map((kind) => [kind, undefined]));
    const text = noticeFor(reader, recent);
    if (text !== undefined) reader.tell(text);
    return () => {
      feed.readers.delete(reader);
      if (feed.readers.size > 0) return;
      feed.end();
      if (this.#feeds.get(team) === feed) this.#feeds.delete(team);
    };
  }
}

class LiveFeed {
  readonly readers = new Set<FeedReader>();
  readonly #unfollow: () => void;
  #collected: Collected = new Map();
  #timer: NodeJS.Timeout | undefined;
  #told = Number.NEGATIVE_INFINITY;

  constructor(changes: Changes, team: number) {
    this.#unfollow = changes.follow(team, (change) => this.#collect(change));
  }

  end(): void {
    this.#unfollow();
    clearTimeout(this.#timer);
  }

  #collect({ kind, id }: Change): void {
    const ids = this.#collected.has(kind) ? this.#collected.get(kind) : new Set<string>();
    this.#collected.set(kind, id === undefined || (ids && ids.size >= mostIds) ? undefined : ids?.add(id));
    const wait = Math.max(gatherMs, this.#told + pauseMs - performance.now());
    this.#timer ??= setTimeout(() => this.#tell(), wait);
  }

  #tell(): void {
    this.#timer = undefined;
    this.#told = performance.now();
    const collected = this.#collected;
    this.#collected = new Map();
    const texts = new Map<string, string | undefined>();
    for (const reader of this.readers) {
      const heard = [...collected.keys()].filter((kind) => reader.hears(kind)).join();
      if (!texts.has(heard)) texts.set(heard, noticeFor(reader, collected));
      const text = texts.get(heard);
      if (text !== undefined) reader.tell(text);
      if (collected.has("teams")) reader.check();
    }
  }
}

/** Returns the notice as JSON; undefined if the reader hears of none of the changes. */
function noticeFor(reader: Pick<FeedReader, "hears">, collected: Collected): string | undefined {
  const changed = [...collected].flatMap(([kind, ids]) => {
    if (!reader.hears(kind)) return [];
    return [ids === undefined ? { kind } : { kind, ids: [...ids] }];
  });
  return changed.length > 0 ? JSON.stringify({ changed } satisfies Notice) : undefined;
}
