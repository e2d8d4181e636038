/** The body of an answer on a direct connection: it can be read into buffers, in pieces, or whole. */
import { TooLongError } from "./bounds.ts";
import type { DirectLease } from "./direct-lease.ts";
import { largestWhole } from "./incoming-body.ts";

/** Size of a piece in bytes. */
const pieceSize = 128 * 1024;

export class DirectBody implements AsyncIterableIterator<Uint8Array> {
  readonly #lease: DirectLease;
  readonly #reusable: boolean;
  /** Number of bytes that the reader has not taken yet. When it reaches 0, the connection is released. */
  #left: number;

  constructor(lease: DirectLease, { length, keptAlive }: { readonly length: number; readonly keptAlive: boolean }) {
    this.#lease = lease;
    this.#reusable = keptAlive;
    this.#left = length;
    if (length === 0) lease.end(keptAlive);
  }

  /**
   * Fills the buffer and returns the number of bytes. The number is less than the size of the buffer only if the body
   * has ended or broken off. If the body broke off, the next call throws the error.
   */
  async fill(buffer: Uint8Array): Promise<number> {
    if (this.#left === 0) return 0;
    try {
      return this.#count(await this.#lease.fill(buffer.subarray(0, this.#left)));
    } catch (error) {
      this.#lease.end(false);
      throw error;
    }
  }

  #count(taken: number): number {
    this.#left -= taken;
    if (this.#left === 0) this.#lease.end(this.#reusable);
    return taken;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#left === 0) return { done: true, value: undefined };
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, this.#left));
    return { done: false, value: piece.subarray(0, await this.fill(piece)) };
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  /** Ends a body that the reader leaves early. Closes the connection, because the unread rest may be long. */
  close(): void {
    this.#left = 0;
    this.#lease.end(false);
  }

  async bytes(most = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    if (this.#left > most) {
      this.close();
      throw new TooLongError(most);
    }
    if (this.#left > largestWhole) return Buffer.concat(await Array.fromAsync(this));
    const whole = Buffer.allocUnsafeSlow(this.#left);
    // A small body has usually arrived together with the head.
    let filled = this.#left === 0 ? 0 : this.#count(this.#lease.take(whole));
    while (this.#left > 0) filled += await this.fill(whole.subarray(filled));
    return whole;
  }

  /** Reads a short rest, so that the connection can be reused. If the rest is long, closes the connection. */
  async discard(): Promise<void> {
    if (this.#left <= pieceSize) await this.bytes();
    else this.close();
  }
}
