/** Wake-ups between the parts of one server. Only a hint: whoever wakes rereads the store. */

export class Signal {
  #waiting = new Set<() => void>();
  #pending = false;

  /** Wakes everybody who waits; with nobody waiting, the next to wait does not. */
  wake(): void {
    if (this.#waiting.size === 0) this.#pending = true;
    for (const resume of [...this.#waiting]) resume();
  }

  /** Resolves at the next wake-up, after the time, or when aborted. */
  wait(milliseconds: number, abort?: AbortSignal): Promise<void> {
    if (this.#pending || abort?.aborted) {
      this.#pending = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const resume = () => {
        clearTimeout(timer);
        this.#waiting.delete(resume);
        abort?.removeEventListener("abort", resume);
        resolve();
      };
      const timer = setTimeout(resume, milliseconds);
      this.#waiting.add(resume);
      abort?.addEventListener("abort", resume);
    });
  }
}

/** What a server's parts tell each other. */
export class Signals {
  /** Something may be startable: a job was created, a slot came free. */
  readonly dispatch = new Signal();
  /**
   * Writes under way that may put jobs into the queue: whoever looks at what is committed does not see those yet, and
   * one who takes part in the commit does.
   */
  enqueuing = 0;
  /** Keys of attempts that are open and that this server is about to hand over. */
  readonly starting = new Set<string>();
  /** How many loops that observe jobs have not yet looked at all of theirs once. */
  endsUnseen = 0;
  /** An attempt changed, or a cancellation is wanted. */
  readonly observe = new Signal();
  /** A job waits for a retry. */
  readonly retries = new Signal();
  /** A job waits for its files. */
  readonly files = new Signal();
  /** A task was created or cancelled. */
  readonly tasks = new Signal();
  /** A job has worked with its team's warehouse. */
  readonly stores = new Signal();
  /** An export was asked for. */
  readonly exports = new Signal();
  /** A schedule was created or changed. */
  readonly schedules = new Signal();
  /** A dataset that fires schedules may have been quiet for long enough. */
  readonly triggers = new Signal();
  /** A backfill was created, or goes on. */
  readonly backfills = new Signal();
  /** Something is to be told at once: a test, a redelivery, a receiver that is enabled again. */
  readonly deliveries = new Signal();
  readonly #jobs = new Map<string, Set<() => void>>();

  /** Whether ends that came while no server ran are written down: until then a run that is over looks as if it went on. */
  get endsSeen(): boolean {
    return this.endsUnseen === 0;
  }

  jobChanged(id: string): void {
    for (const listener of this.#jobs.get(id) ?? []) listener();
  }

  /** Returns how to stop listening. */
  onJobChange(id: string, listener: () => void): () => void {
    const listeners = this.#jobs.get(id) ?? new Set();
    this.#jobs.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#jobs.delete(id);
    };
  }
}
