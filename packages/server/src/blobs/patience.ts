/** Time limits for a storage that accepts requests and does not answer them. */
import { BlobsUnavailable } from "./blobs.ts";

export interface Limits {
  /** Time limit for an answer, in milliseconds. */
  readonly answerMs: number;
  /** Time limit, in milliseconds, for storing the next part of a file. A part can be large. */
  readonly partMs: number;
}

export const usualLimits: Limits = { answerMs: 20_000, partMs: 120_000 };

export class Patience {
  readonly #closing: AbortSignal;
  readonly #limits: Limits;

  /** `closing` is aborted when the server stops. */
  constructor(closing: AbortSignal, limits: Limits) {
    this.#closing = closing;
    this.#limits = limits;
  }

  /** Makes a call that must end in time. Throws BlobsUnavailable if it does not. */
  async answer<T>(call: (options: { signal: AbortSignal }) => Promise<T>): Promise<T> {
    const timer = this.#timer(this.#limits.answerMs);
    timer.start();
    return timer.during(call);
  }

  /** Makes a call that tells its progress by `onBytes`. Throws BlobsUnavailable if it makes none for too long. */
  async progress<T>(call: (options: { signal: AbortSignal; onBytes: () => void }) => Promise<T>): Promise<T> {
    const timer = this.#timer(this.#limits.partMs);
    timer.start();
    return timer.during((options) => call({ ...options, onBytes: () => timer.start() }));
  }

  /** Reads something that arrives in parts. The time counts while a part is waited for, not while it is used. */
  async *arriving<T>(read: (options: { signal: AbortSignal }) => AsyncIterable<T>): AsyncGenerator<T> {
    const timer = this.#timer(this.#limits.answerMs);
    const parts = read({ signal: timer.signal })[Symbol.asyncIterator]();
    const next = () => {
      timer.start();
      return timer.during(() => parts.next());
    };
    try {
      for (let part = await next(); !part.done; part = await next()) yield part.value;
    } finally {
      await parts.return?.();
    }
  }

  #timer(milliseconds: number): Timer {
    return new Timer(this.#closing, milliseconds);
  }
}

class Timer {
  readonly #closing: AbortSignal;
  readonly #milliseconds: number;
  readonly #late = new AbortController();
  #timeout: ReturnType<typeof setTimeout> | undefined;

  constructor(closing: AbortSignal, milliseconds: number) {
    this.#closing = closing;
    this.#milliseconds = milliseconds;
  }

  start(): void {
    this.stop();
    this.#timeout = setTimeout(() => this.#late.abort(), this.#milliseconds);
  }

  stop(): void {
    clearTimeout(this.#timeout);
  }

  /** Aborted when the time is over, or when the server stops. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.#closing, this.#late.signal]);
  }

  async during<T>(call: (options: { signal: AbortSignal }) => Promise<T>): Promise<T> {
    try {
      return await call({ signal: this.signal });
    } catch (error) {
      if (!this.#late.signal.aborted) throw error;
      throw new BlobsUnavailable(new Error(`it did not answer within ${this.#milliseconds / 1000} seconds`));
    } finally {
      this.stop();
    }
  }
}
