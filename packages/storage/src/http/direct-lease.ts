/**
 * The use of one connection to a host, for one request and its answer. If the signal aborts, the connection is closed.
 */
import type { DirectConnection } from "./direct-connection.ts";

export class DirectLease {
  readonly signal: AbortSignal | undefined;
  readonly #onEnd: (kept: DirectConnection | undefined) => void;
  #connection: DirectConnection | undefined;
  #ended = false;

  /** `onEnd` receives the connection if it can be reused, otherwise undefined. */
  constructor(signal: AbortSignal | undefined, onEnd: (kept: DirectConnection | undefined) => void) {
    this.signal = signal;
    this.#onEnd = onEnd;
    signal?.addEventListener("abort", this.#stop, { once: true });
  }

  readonly #stop = () => {
    this.#connection?.destroy(this.signal?.reason);
    this.end(false);
  };

  use(connection: DirectConnection): DirectConnection {
    this.#connection = connection;
    return connection;
  }

  /** Copies bytes that have already arrived into the buffer, and returns their number. */
  take(buffer: Uint8Array): number {
    return this.#reading().take(buffer);
  }

  async fill(buffer: Uint8Array): Promise<number> {
    return this.#reading().fill(buffer);
  }

  #reading(): DirectConnection {
    if (!this.#connection || this.#ended)
      throw new Error("the body cannot be read any more: it has ended, or the request was aborted");
    return this.#connection;
  }

  end(reusable: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.signal?.removeEventListener("abort", this.#stop);
    if (!reusable) this.#connection?.destroy();
    this.#onEnd(reusable ? this.#connection : undefined);
  }
}
