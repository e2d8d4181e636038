/** The body of an answer on its way, without a stream around it: reading is then limited by the network, not by us. */
import type { Dispatcher } from "undici";

/** Bytes that wait for a reader before the connection is told to hold back. */
const mostWaiting = 512 * 1024;

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Called once, whether the body came whole or not, and also when there was no answer at all. */
type OnEnd = (failure?: { error: unknown }) => void;

type OnStart = (status: number, headers: HttpHeaders) => void;

/** What undici calls while an answer comes, and what reads it. */
export class IncomingBody implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array> {
  readonly #onStart: OnStart;
  readonly #onEnd: OnEnd;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #waiting = 0;
  /** The whole is wanted: nothing is held back. */
  #collecting = false;
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(onStart: OnStart, onEnd: OnEnd) {
    this.#onStart = onStart;
    this.#onEnd = onEnd;
  }

  abort(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(reason as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(this.#failure.error as Error);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: HttpHeaders): void {
    if (status >= 200) this.#onStart(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece);
    this.#waiting += piece.length;
    if (this.#collecting) return;
    if (this.#waiting > mostWaiting) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#ended || this.#failure) return;
    this.#failure = { error };
    this.#onEnd(this.#failure);
    this.#wake?.();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (this.#pieces.length === 0) {
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return { done: true, value: undefined };
      await this.#change();
    }
    const value = this.#pieces.shift() as Buffer;
    this.#waiting -= value.length;
    if (this.#waiting <= mostWaiting && this.#controller?.paused) this.#controller.resume();
    return { done: false, value };
  }

  /** Whoever leaves early gives the connection up: what is still to come may be long. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#ended) this.abort(new Error("the rest of the body is not wanted"));
    return { done: true, value: undefined };
  }

  async bytes(): Promise<Uint8Array> {
    this.#collecting = true;
    this.#controller?.resume();
    while (!this.#ended && !this.#failure) await this.#change();
    if (this.#failure) throw this.#failure.error;
    return Buffer.concat(this.#pieces, this.#waiting);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
