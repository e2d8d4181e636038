/** Whether the server takes requests: not while it starts, and not once it stops. */
export class Readiness {
  readonly #stop = new AbortController();
  #isReady = false;

  readonly isReady = (): boolean => this.#isReady;

  /** Aborted when the server stops: what streams without end must end, what retries must give up. */
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  begin(): void {
    this.#isReady = true;
  }

  end(): void {
    this.#isReady = false;
    this.#stop.abort();
  }
}
