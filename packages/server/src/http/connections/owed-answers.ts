/** Answers that are owed over one connection: they are sent in the order of their requests. */
import type { ServerResponse } from "node:http";

interface Owed {
  /** The one that is to be sent before it. */
  readonly before: ServerResponse | undefined;
  /** What is to be done once it is sent. */
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

  /** Calls back when this answer has been sent, or will never be. */
  onceSent(answer: ServerResponse, end: () => void): void {
    const owed = this.#owed.get(answer);
    if (owed) owed.ends.push(end);
    else end();
  }

  /** Calls back when this answer is the next to be sent: at once, or in another round of the event loop. */
  onceNext(answer: ServerResponse, go: () => void): void {
    const before = this.#owed.get(answer)?.before;
    if (before && this.#owed.has(before)) this.onceSent(before, () => void setImmediate(go));
    else go();
  }

  /** Waits until all are sent. False: there were none. */
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

  /** Answers that stood behind another hear nothing of the end of their connection. */
  endAll(): void {
    for (const answer of [...this.#owed.keys()]) this.end(answer);
  }
}
