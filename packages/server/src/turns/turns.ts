/** Takes turns: a few at once, owners in turn and inside an owner its callers, and the event loop goes round between them. */
import { Lines } from "./lines.ts";

export class Turns {
  readonly #waiting = new Map<unknown, Lines<() => void>>();
  readonly #running = new Map<unknown, number>();
  readonly #ofOneOwner: number;
  #free: number;

  constructor(atOnce: number, ofOneOwner = atOnce) {
    this.#free = atOnce;
    this.#ofOneOwner = ofOneOwner;
  }

  /** `owner` is a caller, or what several callers share, such as a team. */
  async run<T>(work: () => Promise<T>, owner?: unknown, caller: unknown = owner): Promise<T> {
    if (this.#free > 0 && this.#mayBegin(owner)) this.#begin(owner);
    else await new Promise<void>((resolve) => this.#wait(owner, caller, resolve));
    try {
      return await work();
    } finally {
      // Not at once: whoever asks for something small would wait for everybody in the line.
      setImmediate(() => this.#end(owner));
    }
  }

  #wait(owner: unknown, caller: unknown, go: () => void): void {
    const lines = this.#waiting.get(owner) ?? new Lines();
    lines.add(caller, go);
    this.#waiting.set(owner, lines);
  }

  #mayBegin(owner: unknown): boolean {
    return (this.#running.get(owner) ?? 0) < this.#ofOneOwner;
  }

  #begin(owner: unknown): void {
    this.#free--;
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  #end(owner: unknown): void {
    this.#free++;
    const left = (this.#running.get(owner) ?? 1) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#pass();
  }

  #pass(): void {
    for (const [owner, lines] of this.#waiting) {
      if (!this.#mayBegin(owner)) continue;
      const go = lines.take();
      this.#waiting.delete(owner);
      if (!lines.isEmpty) this.#waiting.set(owner, lines);
      this.#begin(owner);
      go?.();
      return;
    }
  }
}
