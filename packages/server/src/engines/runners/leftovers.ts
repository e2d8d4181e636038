/**
 * Removes what a cluster still has of ended attempts. If the cluster is away, it is asked again when it is back: after a
 * restart of the server, too, because the attempt's folder says that something may be there. A cluster may also believe
 * that a runner goes on which has ended: a controller of Slurm that was killed forgets what it had not written.
 */
import { EngineUnreachable } from "../engine.ts";
import { isKey, type RunnerFolder } from "./runner-folder.ts";

interface LeftoversOptions {
  /** Asks the cluster to remove what it has of an attempt. */
  readonly remove: (key: string) => Promise<void>;
  readonly folder: (key: string) => RunnerFolder;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/** Milliseconds between two looks for runners that the cluster lists although their attempts are over. */
const lookMs = 60_000;

export class Leftovers {
  readonly #remove: LeftoversOptions["remove"];
  readonly #folder: LeftoversOptions["folder"];
  /** Keys of attempts that could not be removed because the cluster was away. */
  readonly #postponed = new Set<string>();
  #isRepeating = false;
  /** What the cluster listed at the last look although it was over, and when that was by the monotonic clock. */
  #looked: { readonly at: number; readonly over: ReadonlySet<string> };
  readonly #now: () => number;

  constructor({ remove, folder, now }: LeftoversOptions) {
    this.#remove = remove;
    this.#folder = folder;
    this.#now = now;
    this.#looked = { at: now(), over: new Set() };
  }

  /** Returns false if the cluster is away. */
  async remove(key: string): Promise<boolean> {
    try {
      await this.#remove(key);
    } catch (error) {
      if (!(error instanceof EngineUnreachable)) throw error;
      this.#postponed.add(key);
      return false;
    }
    await this.#folder(key).noteGone();
    return true;
  }

  /**
   * Removes what could not be removed before, and what the cluster still lists a minute after it was over. Call this
   * when the cluster has answered, with the keys that it lists. Attempts of other servers have no folder here.
   */
  async repeat(listed: Iterable<string>): Promise<void> {
    if (this.#isRepeating) return;
    this.#isRepeating = true;
    try {
      for (const key of this.#lingering(listed)) this.#postponed.add(key);
      for (const key of [...this.#postponed]) {
        // If the cluster refuses for another reason, the next start of the server asks again.
        this.#postponed.delete(key);
        if (!(await this.remove(key))) return;
      }
    } finally {
      this.#isRepeating = false;
    }
  }

  #lingering(listed: Iterable<string>): string[] {
    const { at, over } = this.#looked;
    if (this.#now() - at < lookMs) return [];
    const still = [...listed].filter((key) => isKey(key) && this.#folder(key).isOver());
    this.#looked = { at: this.#now(), over: new Set(still) };
    return still.filter((key) => over.has(key));
  }
}
