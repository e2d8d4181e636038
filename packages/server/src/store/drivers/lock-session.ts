/** The session of PostgreSQL that has the lock of a server, asked again and again whether it lives. */
import pg from "pg";

export class RivalServer extends Error {}

class MovedAddress extends Error {}

/** Numbers that no other program on the same database is likely to take. */
const serverLock = 0x6d696c6d;
/** Held, shared, by every write while it lasts. */
const writersLock = 0x6d696c6e;

const holder = `
  select a.pid, a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = ${serverLock} and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())`;

export class LockSession {
  readonly #url: string;
  readonly #client: pg.Client;
  readonly #timeout: number;
  readonly #fence: string;
  /** Why it ended: the first reason is the true one. */
  #failure: Error | undefined;
  #beat: NodeJS.Timeout | undefined;
  /** Asks where the address leads just now. */
  #scout: pg.Client | undefined;

  /** Rejects with `RivalServer` where another server has the lock. `fence` is a number of its own for every session. */
  static async open(url: string, timeout: number, owner: string, fence: string): Promise<LockSession> {
    const session = new LockSession(url, timeout, `millrace ${owner}`, fence);
    try {
      await session.#client.connect();
      await session.#take(`millrace ${owner}`);
      session.#askLater();
      return session;
    } catch (error) {
      session.#end(error as Error);
      throw error;
    }
  }

  private constructor(url: string, timeout: number, name: string, fence: string) {
    this.#url = url;
    this.#timeout = timeout;
    this.#fence = fence;
    this.#client = new pg.Client({ ...sessionOptions(url, timeout), application_name: name });
    this.#client.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  /**
   * Fails unless this session lives: as long as it does, nobody else gets its number. Locks are asked as they are now, not
   * as a snapshot saw them.
   */
  get guard(): string {
    return `select pg_advisory_xact_lock_shared(${writersLock}); select 1 / (not pg_try_advisory_xact_lock_shared(${this.#fence}))::int`;
  }

  onEnd(listener: (error: Error) => void): void {
    this.#client.once("end", () => {
      clearTimeout(this.#beat);
      listener(this.#failure ?? new Error("the connection ended"));
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#beat);
    if (this.#scout) destroySocket(this.#scout);
    await endSession(this.#client);
  }

  async #take(name: string): Promise<void> {
    const [state] = await this.#ask("select pg_is_in_recovery() as standby");
    if (state?.["standby"])
      throw Object.assign(new Error("the database is a standby: it takes no writes"), { code: "25006" });
    const [answer] = await this.#ask(`select pg_try_advisory_lock(${serverLock}) as locked`);
    if (!answer?.["locked"]) await this.#meet(name);
    await this.#ask(`select pg_advisory_lock(${this.#fence})`);
    // Writes that began under the last holder end first.
    await this.#ask(`select pg_advisory_lock(${writersLock})`);
    await this.#ask(`select pg_advisory_unlock(${writersLock})`);
  }

  /** Somebody has the lock. Where it is a session of ours that the database does not know to be gone, it is ended. */
  async #meet(name: string): Promise<never> {
    const [other] = await this.#ask(holder);
    if (other?.["name"] !== name)
      throw new RivalServer(
        "Another Millrace server uses this database. Several servers on one database come in a later version.",
      );
    await this.#ask(`select pg_terminate_backend(${Number(other["pid"])})`);
    throw new Error("the former connection of this server still holds the lock");
  }

  #askLater(): void {
    this.#beat = setTimeout(
      () =>
        Promise.all([this.#ask("select 1"), this.#requireSameServer()]).then(
          () => this.#askLater(),
          // A session that nobody asks any more is noticed too late when it dies; a new one is asked again.
          (error) => this.#end(error),
        ),
      Math.min(this.#timeout / 2, 2000),
    );
  }

  /**
   * Rejects where the address leads to another server by now: this session may be on one that was failed over from and
   * lives on. A new connection tells, since only on the session's own server its number is taken.
   */
  async #requireSameServer(): Promise<void> {
    const client = new pg.Client({ ...sessionOptions(this.#url, this.#timeout), query_timeout: this.#timeout });
    client.on("error", () => {});
    this.#scout = client;
    try {
      await client.connect();
      const { rows } = await client.query<{ free: boolean }>(
        `select pg_try_advisory_lock_shared(${this.#fence}) as free`,
      );
      if (rows[0]?.free) throw new MovedAddress("the address of the database leads to another server");
    } catch (error) {
      // Whether the database lives, the session itself is asked.
      if (error instanceof MovedAddress) throw error;
    } finally {
      this.#scout = undefined;
      await endSession(client);
    }
  }

  async #ask(text: string): Promise<Record<string, unknown>[]> {
    const hung = setTimeout(() => this.#end(new Error(`no answer within ${this.#timeout / 1000} s`)), this.#timeout);
    try {
      return (await this.#client.query<Record<string, unknown>>(text)).rows;
    } finally {
      clearTimeout(hung);
    }
  }

  #end(failure: Error): void {
    this.#failure ??= failure;
    destroySocket(this.#client);
  }
}

/** Says goodbye, and does not wait long for the answer. */
async function endSession(client: pg.Client): Promise<void> {
  const hung = setTimeout(() => destroySocket(client), 1000);
  await client.end().catch(() => {});
  clearTimeout(hung);
}

/** For every connection of a server: a network or a database that went silent is noticed on both sides. */
export const sessionOptions = (url: string, timeout: number) => ({
  connectionString: url,
  connectionTimeoutMillis: timeout,
  keepAlive: true,
  keepAliveInitialDelayMillis: timeout,
  options: "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
});

/** Without a word to the other side, which may never answer. Whoever waits on it is told that it ended. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
