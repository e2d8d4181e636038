/**
 * One server to a database. The lock belongs to a session of PostgreSQL: it ends with that, and is taken again when the
 * database is back, for as long as that takes. In between nothing is written: see `begin`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LockSession, RivalServer } from "./lock-session.ts";
import { isRefused } from "./unavailable.ts";

export interface LockEvents {
  /** At the start: the database does not answer yet. Told at once and then every minute. */
  onWaiting?(error: Error): void;
  onLost?(error: Error): void;
  onBack?(seconds: number): void;
  /** Another server has taken the lock. This one must not go on. */
  onRival(error: Error): void;
}

/** A server that was killed a moment ago may hold the lock until the database notices. */
const rivalPatience = 10_000;
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

  /** Waits for a database that does not answer; rejects where it refuses us or where another server has the lock. */
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
   * The statements that begin a write. They fail in the database itself unless the session that has the lock lives, on
   * this very server: a connection to one that was failed over from writes nothing. Whoever takes the lock next waits
   * until the writes that began so have ended.
   */
  get begin(): string | undefined {
    const session = this.#session;
    return session && `begin; ${session.guard}`;
  }

  /** Connections that were made before are of no more use. */
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

/** A number for one holding of the lock, which no other holding has. */
const randomFence = () => (randomBytes(8).readBigUInt64BE() >> 2n).toString();
