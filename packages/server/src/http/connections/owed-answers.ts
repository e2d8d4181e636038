/** Tracks the answers of one connection that are not sent yet. They are sent in the order of their requests. */
import type { ServerResponse } from "node:http";

interface Owed {
  /** Answer that must be sent before this one; undefined for the first. */
  readonly before: ServerResponse | undefined;
  /** Callbacks to run once this answer is sent. */
  readonly ends: (() => void)[];
}

export class OwedAnswers {
  readonly #owed = new Map<ServerResponse, Owed>();
  #last: ServerResponse | undefined;

  get size(): number {
    return this.#owed.size;
  }

  get all(): Iterable<ServerResponse> {
    return this.#owed.keys();
  }

  add(answer: ServerResponse): void {
    this.#owed.set(answer, { before: this.#last, ends: [] });
    this.#last = answer;
  }

  /** Calls `end` when this answer was sent, or can no longer be sent. */
  onceSent(answer: ServerResponse, end: () => void): void {
    const owed = this.#owed.get(answer);
    if (owed) owed.ends.push(end);
    else end();
  }

  /**
   * Calls `go` when all earlier answers are sent: at once if there are none, otherwise in a later iteration of the
   * event loop.
   */
  onceNext(answer: ServerResponse, go: () => void): void {
    const before = this.#owed.get(answer)?.before;
    if (before && this.#owed.has(before)) this.onceSent(before, () => void setImmediate(go));
    else go();
  }

  /** Waits until all answers are sent. Returns false if there were none. */
  async sent(): Promise<boolean> {
    const last = this.#last;
    if (!last || !this.#owed.has(last)) return false;
    await new Promise<void>((resolve) => this.onceSent(last, resolve));
    return true;
  }

  end(answer: ServerResponse): void {
    const ends = this.#owed.get(answer)?.ends ?? [];
    this.#owed.delete(answer);
    for (const end of ends) end();
  }

  /**
   * Marks all answers of a closed connection as ended. This is needed because an answer that is queued behind another
   * one gets no close event of its own.
   */
  endAll(): void {
    for (const answer of [...this.#owed.keys()]) this.end(answer);
  }
}
