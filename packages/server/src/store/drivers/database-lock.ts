/**
 * Lock that allows one server per database. It belongs to a PostgreSQL session and is lost when that session ends; the
 * server then retries until it holds the lock again. Without the lock nothing can be written: see `begin`.
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
 * How long to wait if another server holds the lock, in milliseconds. A server that was just killed may hold the lock
 * until the database notices.
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
   * SQL that begins every write. It fails in the database unless the session with the lock is alive on this same
   * database server, so nothing is written to the old primary of a failover. The next holder of the lock waits until
   * all writes that began this way have ended.
   */
  get begin(): string | undefined {
    const session = this.#session;
    return session && `begin; ${session.guard}`;
  }

  /** Registers a listener for the loss of the lock, after which existing connections must not be used. */
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
