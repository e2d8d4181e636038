/**
 * Tells followers of a team what has changed. A change is only a hint: whoever gets it reads the store again. Changes
 * that another program makes in the store are not noticed.
 */
import type { NoticeKind } from "@millrace/contract";

export interface Change {
  /** Id of the team. */
  readonly team: number;
  readonly kind: NoticeKind;
  /** Id of the changed thing; undefined if it is not known, or if there are many. */
  readonly id?: string | undefined;
}

type Listener = (change: Change) => void;

/** The database of the server cannot be reached, or can be reached again. */
export type DatabaseState = "away" | "back";

/** How long a change counts as recent, in milliseconds. */
const recentMs = 5000;

export class Changes {
  readonly #listeners = new Map<number, Set<Listener>>();
  /** When something of a kind last changed, by team. */
  readonly #recent = new Map<number, Map<NoticeKind, number>>();
  readonly #watchers = new Set<(state: DatabaseState) => void>();
  #tidied = performance.now();

  note(team: number, kind: NoticeKind, id?: string): void {
    this.#remember(team, kind);
    for (const listener of this.#listeners.get(team) ?? []) listener({ team, kind, id });
  }

  /** Calls the listener for every change in the team. Returns a function that removes the listener. */
  follow(team: number, listener: Listener): () => void {
    const listeners = this.#listeners.get(team) ?? new Set();
    this.#listeners.set(team, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(team);
    };
  }

  noteDatabase(state: DatabaseState): void {
    for (const watcher of this.#watchers) watcher(state);
  }

  /** Calls the watcher when the database goes and when it comes back. */
  watchDatabase(watcher: (state: DatabaseState) => void): void {
    this.#watchers.add(watcher);
  }

  /**
   * Returns the kinds of things that changed in the last seconds. A page reads its first answers shortly before it
   * follows the team, and would miss what changes in between.
   */
  recent(team: number): NoticeKind[] {
    const since = performance.now() - recentMs;
    return [...(this.#recent.get(team) ?? [])].flatMap(([kind, at]) => (at >= since ? [kind] : []));
  }

  #remember(team: number, kind: NoticeKind): void {
    const now = performance.now();
    const known = this.#recent.get(team) ?? new Map<NoticeKind, number>();
    this.#recent.set(team, known.set(kind, now));
    if (now - this.#tidied < recentMs) return;
    this.#tidied = now;
    for (const [other, kinds] of this.#recent)
      if ([...kinds.values()].every((at) => at < now - recentMs)) this.#recent.delete(other);
  }
}
