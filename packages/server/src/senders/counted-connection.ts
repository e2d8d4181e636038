/**
 * A connection that counts what the other side sends, below TLS. A TLS connection reports only what was decrypted, so
 * session tickets, key updates and other records of the protocol itself would count nowhere, but each of them takes time.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as others } from "node:timers/promises";

/** Bytes that are passed on before other work runs. They hold at most some hundred TLS records. */
const sliceBytes = 4096;

export class CountedConnection extends Duplex {
  readonly #socket: Socket;
  readonly #most: number;
  readonly #tooMany: () => Error;
  #received = 0;
  /** Resolves when all that has arrived was passed on. */
  #passedOn: Promise<void> = Promise.resolve();

  /** If more than `most` bytes arrive, destroys the connection with the error that `tooMany` returns. */
  constructor(socket: Socket, most: number, tooMany: () => Error) {
    super();
    this.#socket = socket;
    this.#most = most;
    this.#tooMany = tooMany;
    socket.on("data", (chunk: Buffer) => {
      this.#passedOn = this.#passedOn.then(() => this.#passOn(chunk));
    });
    // An answer may have arrived before the connection ended.
    socket.on("end", () => void this.#passedOn.then(() => this.push(null)));
    socket.on("error", (error) => void this.#passedOn.then(() => this.destroy(error)));
    socket.on("close", () => void this.#passedOn.then(() => this.destroy()));
  }

  async #passOn(chunk: Buffer): Promise<void> {
    this.#socket.pause();
    for (let start = 0; start < chunk.length && !this.destroyed; start += sliceBytes) {
      const slice = chunk.subarray(start, start + sliceBytes);
      this.#received += slice.length;
      if (this.#received > this.#most) return void this.destroy(this.#tooMany());
      this.push(slice);
      await others();
    }
    this.#socket.resume();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
