/**
 * Tells whether the server accepts requests. It accepts none before everything has started, and none once it begins to
 * stop.
 */
export class Readiness {
  readonly #stop = new AbortController();
  #isReady = false;

  readonly isReady = (): boolean => this.#isReady;

  /** A signal that is aborted when the server stops. Open streams then end, and no more retries are made. */
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
