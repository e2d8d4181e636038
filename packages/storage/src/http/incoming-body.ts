/** The body of an answer while it arrives. It is not a Node.js stream, which would be slower than a fast network. */
import type { Dispatcher } from "undici";
import { mostDiscarded, TooLongError } from "./bounds.ts";
import type { HttpHeaders } from "./messages.ts";

/** Maximum announced length in bytes for which a buffer is allocated before the bytes arrive. */
export const largestWhole = 64 * 1024 * 1024;

/** Maximum number of bytes that wait for a reader before the connection is paused. */
const mostWaiting = 512 * 1024;

/** Called once: when the body has arrived, when it breaks off, or when there is no answer at all. */
type OnEnd = (failure?: { error: unknown }) => void;

type OnStart = (status: number, headers: HttpHeaders) => void;

/** The handler that undici calls while an answer arrives, and the iterator that reads it. */
export class IncomingBody implements Dispatcher.DispatchHandler, AsyncIterableIterator<Uint8Array> {
  readonly #onStart: OnStart;
  readonly #onEnd: OnEnd;
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #waiting = 0;
  /**
   * How the body is read: in pieces, as a whole, or not at all, so that it is dropped. The connection is paused only if
   * too many pieces wait for the reader.
   */
  #mode: "pieces" | "whole" | "nothing" = "pieces";
  /** Maximum size in bytes of a body that is read whole. */
  #most = Number.POSITIVE_INFINITY;
  #dropped = 0;
  #length: number | undefined;
  /** The buffer that collects a whole body as it arrives. Separate pieces would survive many garbage collections. */
  #whole: Buffer | undefined;
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
    if (status < 200) return;
    this.#length = Number(headers["content-length"] ?? Number.NaN);
    this.#onStart(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#failure) return;
    if (this.#mode === "nothing") this.#drop(piece);
    else this.#add(piece);
    if (this.#mode !== "pieces") return;
    if (this.#waiting > mostWaiting) controller.pause();
    this.#wake?.();
  }

  #add(piece: Buffer): void {
    if (this.#whole && this.#waiting + piece.length <= this.#whole.length) this.#whole.set(piece, this.#waiting);
    else this.#pieces.push(piece);
    this.#waiting += piece.length;
    if (this.#waiting > this.#most) this.abort(new TooLongError(this.#most));
  }

  #drop(piece: Buffer): void {
    this.#dropped += piece.length;
    if (this.#dropped > mostDiscarded) this.#wake?.();
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

  /** Ends a body that the reader leaves early. Closes the connection, because the unread rest may be long. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#ended) this.abort(new Error("the rest of the body is not wanted"));
    return { done: true, value: undefined };
  }

  async bytes(most = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    this.#mode = "whole";
    this.#most = most;
    const already = this.#pieces.splice(0);
    // An answer to HEAD announces a length but has no bytes.
    if (this.#length && this.#length <= Math.min(largestWhole, most) && !this.#ended)
      this.#whole = Buffer.allocUnsafeSlow(this.#length);
    this.#waiting = 0;
    for (const piece of already) this.#add(piece);
    await this.#untilEnd();
    const { length = 0 } = this.#whole ?? {};
    return this.#whole && this.#waiting === length ? this.#whole : Buffer.concat(this.#pieces, this.#waiting);
  }

  /** Reads and drops the rest, so that the connection can be reused. If the rest is long, closes the connection. */
  async discard(): Promise<void> {
    this.#mode = "nothing";
    await this.#untilEnd();
    await this.return();
  }

  async #untilEnd(): Promise<void> {
    if (this.#controller?.paused) this.#controller.resume();
    while (!this.#ended && !this.#failure && this.#dropped <= mostDiscarded) await this.#change();
    if (this.#failure) throw this.#failure.error;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
