/**
 * Lock that allows only one server per database. A PostgreSQL session holds the lock. If this session ends, the server
 * cannot write (see `begin`), and tries to take the lock again until it succeeds.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LockSession, RivalServer } from "./lock-session.ts";
import { isRefused } from "./unavailable.ts";

export interface LockEvents {
  /** Called during start while the database does not answer: at once, and then every minute. */
  onWaiting?(error: Error): void;
  onLost?(error: Error): void;
  onBack?(seconds: number): void;
  /** Called when another server holds the lock; this server must stop. */
  onRival(error: Error): void;
}

/**
 * How long a server waits for a lock that another server holds, in milliseconds. If the other server was just killed,
 * the database may take some time to notice and to release the lock.
 */
const rivalPatience = 10_000;
/** Milliseconds between two calls of `onWaiting`. */
const tellEvery = 60_000;

export class DatabaseLock {
  readonly #url: string;
  readonly #timeout: number;
  readonly #events: LockEvents;
  readonly #owner = randomUUID();
  readonly #released = new AbortController();
  readonly #listeners = new Set<() => void>();
  #session: LockSession | undefined;
  #regaining: Promise<void> | undefined;

  /**
   * Takes the lock, waiting as long as the database does not answer. Rejects if the database refuses the login or if
   * another server holds the lock.
   */
  static async take(url: string, timeout: number, events: LockEvents): Promise<DatabaseLock> {
    const lock = new DatabaseLock(url, timeout, events);
    let told = Number.NEGATIVE_INFINITY;
    await lock.#acquire((error) => {
      if (isRefused(error)) throw error;
      if (performance.now() - told < tellEvery) return;
      told = performance.now();
      events.onWaiting?.(error);
    });
    return lock;
  }

  private constructor(url: string, timeout: number, events: LockEvents) {
    this.#url = url;
    this.#timeout = timeout;
    this.#events = events;
  }

  get isHeld(): boolean {
    return this.#session !== undefined;
  }

  /**
   * SQL that begins every write; undefined while the server does not hold the lock. The SQL fails unless the session
   * with the lock is alive on the same database server, so nothing is written to the old primary after a failover. The
   * next holder of the lock waits until all writes that began with this SQL have ended.
   */
  get begin(): string | undefined {
    const session = this.#session;
    return session && `begin; ${session.guard}`;
  }

  /**
   * Registers a listener that is called when the lock is lost. Connections opened before the loss must not be used
   * afterwards.
   */
  onLost(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async release(): Promise<void> {
    this.#released.abort();
    await this.#regaining;
    await this.#session?.close();
  }

  async #acquire(onFailure: (error: Error) => void): Promise<void> {
    let rivalSince: number | undefined;
    for (let tries = 1; !this.#released.signal.aborted; tries++) {
      try {
        const session = await LockSession.open(this.#url, this.#timeout, this.#owner, randomFence());
        if (this.#released.signal.aborted) return await session.close();
        this.#session = session;
        session.onEnd((error) => this.#lost(session, error));
        return;
      } catch (error) {
        if (error instanceof RivalServer) {
          rivalSince ??= performance.now();
          if (performance.now() - rivalSince > rivalPatience) throw error;
        } else {
          rivalSince = undefined;
          onFailure(error as Error);
        }
      }
      await sleep(Math.min(200 * tries, 1000), undefined, { signal: this.#released.signal }).catch(() => {});
    }
  }

  #lost(session: LockSession, error: Error): void {
    if (this.#session !== session || this.#released.signal.aborted) return;
    this.#session = undefined;
    const since = performance.now();
    for (const listener of this.#listeners) listener();
    this.#events.onLost?.(error);
    this.#regaining = this.#acquire(() => {}).then(
      () => this.isHeld && this.#events.onBack?.((performance.now() - since) / 1000),
      (failure: Error) => this.#events.onRival(failure),
    ) as Promise<void>;
  }
}

/** Creates a fencing number that is unique to one acquisition of the lock. */
const randomFence = () => (randomBytes(8).readBigUInt64BE() >> 2n).toString();
