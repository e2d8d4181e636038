/**
 * Keeps the indexes of the lines of logs that were read lately. An index is built and extended by the requests that
 * need it, a chunk at a time, from the masked bytes that readers see.
 */
import type { Part } from "../logs/joined-log.ts";
import { LineIndex } from "../logs/line-index.ts";
import { nextLook } from "../turns/large-answers.ts";

/** Maximum number of indexes of all teams. Each takes at most a megabyte, usually a few kilobytes. */
const most = 64;
/** Number of bytes that are read at once: masking them takes about a millisecond. */
const chunk = 256 * 1024;

export class LogIndexes {
  /** The index that was not used for the longest time is the first one. */
  readonly #kept = new Map<string, { readonly teamId: number; readonly index: KeptIndex }>();

  /** Returns the index of a log. `name` is the same for every request about the same bytes. */
  of(teamId: number, name: string): KeptIndex {
    const { index } = this.#kept.get(name) ?? { index: new KeptIndex() };
    this.#kept.delete(name);
    this.#kept.set(name, { teamId, index });
    if (this.#kept.size > most) this.#dropOne();
    return index;
  }

  /**
   * Drops the oldest index of the team that has the most of them. So a team that reads many logs drops its own, and
   * logs of other teams need not be counted again.
   */
  #dropOne(): void {
    const counts = new Map<number, number>();
    for (const { teamId } of this.#kept.values()) counts.set(teamId, (counts.get(teamId) ?? 0) + 1);
    const largest = Math.max(...counts.values());
    for (const [name, { teamId }] of this.#kept)
      if (counts.get(teamId) === largest) return void this.#kept.delete(name);
  }
}

export class KeptIndex {
  #lines = new LineIndex();
  #step: Promise<unknown> = Promise.resolve();

  get lines(): LineIndex {
    return this.#lines;
  }

  /**
   * Extends the index until it reaches the current end of the log, or until `isEnough`. Requests that extend the same
   * index take turns, so each byte is read once.
   */
  async extend(log: Part, isEnough: () => boolean): Promise<boolean> {
    // The job truncated its log: nothing that was counted is certain any more.
    if ((await log.size()) < this.#lines.counted) this.#lines = new LineIndex();
    for (;;) {
      await nextLook();
      const step = this.#step.then(() => this.#read(log));
      this.#step = step.catch(() => {});
      if (await step) return true;
      if (isEnough()) return false;
    }
  }

  async #read(log: Part): Promise<boolean> {
    const lines = this.#lines;
    const bytes = await log.read(lines.counted, chunk);
    if (bytes.length > 0) lines.take(bytes);
    return bytes.length < chunk;
  }
}
