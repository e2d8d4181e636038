/** The PostgreSQL session that holds a server's lock, with a heartbeat that checks whether the session is alive. */
import pg from "pg";

export class RivalServer extends Error {}

class MovedAddress extends Error {}

class ReadOnlyDatabase extends Error {
  /** PostgreSQL's own code for a write to a read-only database. */
  readonly code = "25006";

  constructor() {
    super("the database is read-only");
  }
}

/**
 * True on a standby, and on a database that its operator has made read-only, for example because its disk is full. Only
 * a new session sees the operator's setting for certain.
 */
const readOnly = "current_setting('transaction_read_only')::bool as read_only";

/**
 * Advisory lock of the server. The numbers are arbitrary; other programs on the same database are unlikely to use them.
 */
const serverLock = 0x6d696c6d;
/** Advisory lock that every write holds in shared mode until it ends. */
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
  /** The first error, which ended the session. Later errors are its consequences and are ignored. */
  #failure: Error | undefined;
  #beat: NodeJS.Timeout | undefined;
  /** Temporary connection that checks which server the address leads to. */
  #scout: pg.Client | undefined;

  /**
   * Connects and takes the lock; rejects with `RivalServer` if another server holds it. Each session needs its own
   * `fence` number.
   */
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
   * SQL that fails if this session has ended. A live session holds an advisory lock on its fencing number, so if the
   * SQL can take that lock, the session is gone. Advisory locks are checked live, not as of a transaction's snapshot.
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
    await this.#requireWritable();
    const [answer] = await this.#ask(`select pg_try_advisory_lock(${serverLock}) as locked`);
    if (!answer?.["locked"]) await this.#meet(name);
    await this.#ask(`select pg_advisory_lock(${this.#fence})`);
    // Wait for the writes that began under the previous holder of the lock.
    await this.#ask(`select pg_advisory_lock(${writersLock})`);
    await this.#ask(`select pg_advisory_unlock(${writersLock})`);
  }

  async #requireWritable(): Promise<void> {
    const [state] = await this.#ask(`select ${readOnly}`);
    if (state?.["read_only"]) throw new ReadOnlyDatabase();
  }

  /**
   * Called if another session holds the lock; always throws. If the other session is an old one of this same server, it
   * is ended first, so that the next try succeeds.
   */
  async #meet(name: string): Promise<never> {
    const [other] = await this.#ask(holder);
    if (other?.["name"] !== name)
      throw new RivalServer(
        "Another Millrace server uses this database, and two servers cannot share a database. Stop that server, or give this one its own database.",
      );
    await this.#ask(`select pg_terminate_backend(${Number(other["pid"])})`);
    throw new Error("an earlier connection of this server held the lock; it was ended, and the server tries again");
  }

  #askLater(): void {
    this.#beat = setTimeout(
      () =>
        Promise.all([this.#requireWritable(), this.#requireSameServer()]).then(
          () => this.#askLater(),
          // A session without a heartbeat would be found dead too late, so it is replaced by a new one.
          (error) => this.#end(error),
        ),
      Math.min(this.#timeout / 2, 2000),
    );
  }

  /**
   * Rejects if the database address now leads to another server, because after a failover this session may still be
   * alive on the old primary. The check uses a new connection: if it can lock the session's fencing number, it has
   * reached a server on which the session does not exist. Also rejects if the database has become read-only for new
   * sessions.
   */
  async #requireSameServer(): Promise<void> {
    const client = new pg.Client({ ...sessionOptions(this.#url, this.#timeout), query_timeout: this.#timeout });
    client.on("error", () => {});
    this.#scout = client;
    try {
      await client.connect();
      const { rows } = await client.query<{ free: boolean; read_only: boolean }>(
        `select pg_try_advisory_lock_shared(${this.#fence}) as free, ${readOnly}`,
      );
      if (rows[0]?.read_only) throw new ReadOnlyDatabase();
      if (rows[0]?.free) throw new MovedAddress("the database address now leads to another server");
    } catch (error) {
      // Other errors are ignored: whether the database is alive is checked by the query on the session itself.
      if (error instanceof MovedAddress || error instanceof ReadOnlyDatabase) throw error;
    } finally {
      this.#scout = undefined;
      await endSession(client);
    }
  }

  async #ask(text: string): Promise<Record<string, unknown>[]> {
    const hung = setTimeout(
      () => this.#end(new Error(`the database did not answer within ${this.#timeout / 1000} s`)),
      this.#timeout,
    );
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

/** Closes the connection, and destroys its socket if the database does not respond within a second. */
async function endSession(client: pg.Client): Promise<void> {
  const hung = setTimeout(() => destroySocket(client), 1000);
  await client.end().catch(() => {});
  clearTimeout(hung);
}

/**
 * Options for every connection of a server. TCP keepalives let both sides notice when the other one is gone. The
 * isolation level does not depend on the database's default, because reads are not repeated after a conflict.
 */
export const sessionOptions = (url: string, timeout: number) => ({
  connectionString: url,
  connectionTimeoutMillis: timeout,
  keepAlive: true,
  keepAliveInitialDelayMillis: timeout,
  options: [
    "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
    "-c default_transaction_isolation=read\\ committed",
  ].join(" "),
});

/** Closes the socket without a goodbye message, whose answer may never come. Pending queries fail. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
