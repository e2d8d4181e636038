/**
 * Attempts that must end at once. A runner may go on beating and obey nothing, because a job can act in its runner's
 * name. So the cluster is asked to remove such a runner, and then the attempt ends by the server's word.
 */

/** What is known of an attempt that must end, in milliseconds by the monotonic clock. */
interface Forced {
  /** When the order was first given. A restart of the server begins this time again. */
  readonly since: number;
  /** When the cluster was last asked to remove the runner. */
  readonly asked: number;
  readonly isRemoved: boolean;
}

/** A runner that was told to kill its job has this many milliseconds to report the end. */
export const obeyMs = 15_000;

/** The cluster is asked to remove a runner at most this often: each time may cost a process or a request. */
const askAgainMs = 5000;

export class ForcedEnds {
  readonly #now: () => number;
  readonly #forced = new Map<string, Forced>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes that the attempt must end. Returns whether the cluster is to be asked now to remove its runner. */
  isDue(key: string, isDeaf: boolean): boolean {
    const now = this.#now();
    const known = this.#forced.get(key) ?? { since: now, asked: Number.NEGATIVE_INFINITY, isRemoved: false };
    const isDue = (isDeaf || now - known.since >= obeyMs) && now - known.asked >= askAgainMs;
    this.#forced.set(key, isDue ? { ...known, asked: now } : known);
    return isDue;
  }

  /** Notes that the cluster has accepted the removal. */
  noteRemoved(key: string): void {
    const known = this.#forced.get(key);
    if (known) this.#forced.set(key, { ...known, isRemoved: true });
  }

  isRemoved = (key: string) => this.#forced.get(key)?.isRemoved ?? false;
  forget = (key: string) => this.#forced.delete(key);
}
