/** One request to the Python of the bridge: what it answers, and what is streamed to it or from it. */
import { setTimeout as pause } from "node:timers/promises";
import { type Frame, kinds, pieceSize, windowSize } from "./frames.ts";

/** Of what was cancelled, in milliseconds: long enough to remove a file from a server that is well. */
const longestCleanup = 5000;

/** How a call reaches the other side. */
export interface Line {
  write(kind: number, number: number, payload?: Uint8Array): Promise<void>;
  /** The process stays alive as long as somebody waits. */
  hold(): void;
  release(): void;
  /** Bytes that have come and that nobody has taken yet. */
  buffered(change: number): void;
}

/** An exception of the other side. */
export interface RemoteFailure {
  /** The names of its class and those above, the nearest first. */
  readonly types: readonly string[];
  readonly message: string;
  /** The module that could not be imported. */
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
  /** Bytes that were taken since the other side was last told. */
  #taken = 0;
  #outcome: Outcome | undefined;
  #isAnswered = false;
  /** Wakes whoever waits for anything; a new one for each change. */
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

  /** When the other side is done with it, whether or not anybody here still is. */
  get answered(): Promise<void> {
    return this.#answer.promise;
  }

  /** A frame from the other side. */
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

  /** Ends it without an answer. */
  fail(error: unknown): void {
    this.#isAnswered = true;
    this.#answer.resolve();
    this.#settle({ error });
    this.#wake();
  }

  /** The next frame of what is streamed to us; undefined at its end. What is taken makes room for more. */
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

  /** Told when half of the window is free: before that the other side has room left. */
  #makeRoom(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < windowSize / 2) return;
    const credit = Buffer.alloc(4);
    credit.writeUInt32BE(this.#taken);
    this.#taken = 0;
    this.#line.write(kinds.credit, this.#number, credit).catch(() => {});
  }

  /** What it ends with. */
  async result(): Promise<unknown> {
    while (!this.#outcome) await this.#changed.promise;
    if ("error" in this.#outcome) throw this.#outcome.error;
    return this.#outcome.value;
  }

  /** Streams bytes to the other side, no faster than it takes them. They are not needed any more when this resolves. */
  async send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      while (this.#credit <= 0 && !this.#outcome) await this.#changed.promise;
      if (this.#outcome) return void (await this.result());
      const piece = bytes.subarray(at, at + pieceSize);
      this.#credit -= piece.length;
      await Promise.race([this.#line.write(kinds.data, this.#number, piece), this.answered]);
    }
  }

  /** Nothing more is streamed to the other side. */
  end(): void {
    this.#line.write(kinds.end, this.#number).catch(() => {});
  }

  /** It is not wanted any more. */
  cancel(error: unknown = new Error("cancelled")): void {
    if (this.#isAnswered) return;
    this.#line.write(kinds.cancel, this.#number).catch(() => {});
    this.#settle({ error });
    this.#wake();
  }

  /** The same, and waits until the other side has cleaned up; not for ever, as its server may never answer it. */
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
