/** One request to the Python process: its answer, and the streams of bytes to and from that process. */
import { setTimeout as pause } from "node:timers/promises";
import { type Frame, kinds, pieceSize, windowSize } from "./frames.ts";

/**
 * Maximum time in milliseconds to wait until Python has cleaned up after a cancelled call. The time is enough to remove
 * a file, if the file server works.
 */
const longestCleanup = 5000;

/** The part of the connection to the Python process that a call uses. */
export interface Line {
  write(kind: number, number: number, payload?: Uint8Array): Promise<void>;
  /** Keeps this process running until `release` is called, because a call waits for its answer. */
  hold(): void;
  release(): void;
  /** Adds `change`, which may be negative, to the number of bytes that were received but that nobody has read yet. */
  buffered(change: number): void;
}

/** An exception in Python. */
export interface RemoteFailure {
  /** The names of the exception's class and base classes, the most specific first. */
  readonly types: readonly string[];
  readonly message: string;
  /** The module whose import failed; null for other exceptions. */
  readonly module: string | null;
}

export type Explain = (failure: RemoteFailure) => Error;

type Outcome = { readonly value: unknown } | { readonly error: unknown };

export class Call {
  readonly #number: number;
  readonly #line: Line;
  readonly #explain: Explain;
  #frames: Frame[] = [];
  #credit = windowSize;
  /** Number of bytes that were read here, but not yet reported to the Python process. */
  #taken = 0;
  #outcome: Outcome | undefined;
  #isAnswered = false;
  /** Resolves at the next change of this call. Each change replaces the promise by a new one. */
  #changed = Promise.withResolvers<void>();
  #signal: AbortSignal | undefined;
  readonly #answer = Promise.withResolvers<void>();

  constructor(number: number, line: Line, explain: Explain, signal: AbortSignal | undefined) {
    this.#number = number;
    this.#line = line;
    this.#explain = explain;
    this.#signal = signal;
    line.hold();
    signal?.addEventListener("abort", this.#stop, { once: true });
  }

  /** Resolves when the Python process has finished the call, even if the call was cancelled here. */
  get answered(): Promise<void> {
    return this.#answer.promise;
  }

  /** Handles a frame that the Python process has sent for this call. */
  take(frame: Frame): void {
    const { kind, payload } = frame;
    if (kind === kinds.credit) this.#credit += payload.readUInt32BE(0);
    else if (kind === kinds.result) this.#end({ value: JSON.parse(payload.toString()) });
    else if (kind === kinds.error) this.#end({ error: this.#explain(JSON.parse(payload.toString())) });
    else if (!this.#outcome) {
      this.#frames.push(frame);
      this.#line.buffered(payload.length);
    }
    this.#wake();
  }

  /** Ends the call with an error, without waiting for an answer of the Python process. */
  fail(error: unknown): void {
    this.#isAnswered = true;
    this.#answer.resolve();
    this.#settle({ error });
    this.#wake();
  }

  /**
   * Returns the next frame of the incoming stream, or undefined at the end of the stream. Throws if the call failed.
   */
  async next(): Promise<Frame | undefined> {
    while (this.#frames.length === 0) {
      if (!this.#outcome) await this.#changed.promise;
      else if ("error" in this.#outcome) throw this.#outcome.error;
      else return undefined;
    }
    const frame = this.#frames.shift() as Frame;
    this.#line.buffered(-frame.payload.length);
    if (frame.kind !== kinds.head && !this.#isAnswered) this.#makeRoom(frame.payload.length);
    return frame;
  }

  /**
   * Tells the Python process how many bytes were read here, so that it may send as many further bytes. To save frames,
   * reports are collected until they amount to half of the window.
   */
  #makeRoom(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < windowSize / 2) return;
    const credit = Buffer.alloc(4);
    credit.writeUInt32BE(this.#taken);
    this.#taken = 0;
    this.#line.write(kinds.credit, this.#number, credit).catch(() => {});
  }

  /** Returns the final answer. Throws if the call failed. */
  async result(): Promise<unknown> {
    while (!this.#outcome) await this.#changed.promise;
    if ("error" in this.#outcome) throw this.#outcome.error;
    return this.#outcome.value;
  }

  /**
   * Sends bytes to the Python process, and waits while that process has no room for more. The caller may reuse the
   * buffer when the promise has resolved.
   */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      while (this.#credit <= 0 && !this.#outcome) await this.#changed.promise;
      if (this.#outcome) return void (await this.result());
      const piece = bytes.subarray(at, at + pieceSize);
      this.#credit -= piece.length;
      await Promise.race([this.#line.write(kinds.data, this.#number, piece), this.answered]);
    }
  }

  /** Ends the outgoing stream. */
  end(): void {
    this.#line.write(kinds.end, this.#number).catch(() => {});
  }

  /** Cancels the call. Callers that wait for it get `error`. Does nothing if the call has already been answered. */
  cancel(error: unknown = new Error("cancelled")): void {
    if (this.#isAnswered) return;
    this.#line.write(kinds.cancel, this.#number).catch(() => {});
    this.#settle({ error });
    this.#wake();
  }

  /**
   * Cancels the call and waits until the Python process has cleaned up, but at most `longestCleanup`, because the file
   * server may never answer.
   */
  async cancelled(): Promise<void> {
    this.#line.hold();
    this.cancel();
    const waiting = new AbortController();
    await Promise.race([this.answered, pause(longestCleanup, undefined, { signal: waiting.signal }).catch(() => {})]);
    waiting.abort();
    this.#line.release();
  }

  readonly #stop = () => this.cancel(this.#signal?.reason);

  #end(outcome: Outcome): void {
    this.#isAnswered = true;
    this.#answer.resolve();
    this.#settle(outcome);
  }

  #settle(outcome: Outcome): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    this.#signal?.removeEventListener("abort", this.#stop);
    this.#line.release();
    if ("error" in outcome) this.#dropFrames();
  }

  #dropFrames(): void {
    for (const { payload } of this.#frames) this.#line.buffered(-payload.length);
    this.#frames = [];
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
