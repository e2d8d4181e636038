/** Wake-up signals between the parts of one server. A signal is only a hint: a loop that wakes up rereads the store. */
import { Changes } from "./changes.ts";

/** A signal that loops wait for. */
export class Signal {
  #waiting = new Set<() => void>();
  #count = 0;

  /** Number of wake-ups so far. */
  get count(): number {
    return this.#count;
  }

  /** Wakes all waiters. */
  wake(): void {
    this.#count++;
    for (const resume of [...this.#waiting]) resume();
  }

  /**
   * Resolves at the next wake-up, after the timeout, or when aborted. Resolves at once if there were wake-ups since
   * `count` was `seen`: several loops wait for one signal, and each must learn of those that came while it worked.
   */
  wait(milliseconds: number, seen: number, abort?: AbortSignal): Promise<void> {
    if (this.#count !== seen || abort?.aborted) return Promise.resolve();
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

/** All signals of a server. */
export class Signals {
  /** What changed in each team, for those who follow the team. */
  readonly changes: Changes;
  /** A job may be startable: a job was created, or a slot was freed. */
  readonly dispatch = new Signal();
  /**
   * Number of open transactions that may add jobs to the queue. Other transactions do not see these jobs yet. So if
   * this is not 0, the dispatch loop must not conclude from an empty queue that there is nothing to start.
   */
  enqueuing = 0;
  /**
   * Number of open transactions that end attempts. Other transactions do not see the freed slots yet. So if this is not
   * 0, the dispatch loop must not conclude from busy slots that nothing can start.
   */
  freeing = 0;
  /** Keys of open attempts that this server is about to submit to an engine. */
  readonly starting = new Set<string>();
  /** Number of `follow-attempts` loops that have not checked all running attempts once since the server started. */
  endsUnseen = 0;
  /** An attempt changed, or a job is to be canceled. */
  readonly observe = new Signal();
  /** A job waits for a retry. */
  readonly retries = new Signal();
  /** A job waits for its files. */
  readonly files = new Signal();
  /** A task was created or canceled. */
  readonly tasks = new Signal();
  /** A job has used its team's warehouse. */
  readonly stores = new Signal();
  /** An export was requested. */
  readonly exports = new Signal();
  /** A schedule was created or changed. */
  readonly schedules = new Signal();
  /** A dataset that triggers schedules may have gone long enough without a new version. */
  readonly triggers = new Signal();
  /** A backfill was created, or can continue. */
  readonly backfills = new Signal();
  /**
   * A delivery is due at once. It is a test, a redelivery, or the first delivery of a receiver that was enabled again.
   */
  readonly deliveries = new Signal();
  readonly #jobs = new Map<string, Set<() => void>>();

  constructor(changes = new Changes()) {
    this.changes = changes;
  }

  /**
   * Whether all attempts that ended while no server ran are recorded as ended. Until then they still look as if they
   * were running.
   */
  get endsSeen(): boolean {
    return this.endsUnseen === 0;
  }

  /** Notifies the listeners of a job. */
  jobChanged(id: string): void {
    for (const listener of this.#jobs.get(id) ?? []) listener();
  }

  /** Calls the listener whenever the job changes. Returns a function that removes the listener. */
  onJobChange(id: string, listener: () => void): () => void {
    const listeners = this.#jobs.get(id) ?? new Set();
    this.#jobs.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#jobs.delete(id);
    };
  }
}
