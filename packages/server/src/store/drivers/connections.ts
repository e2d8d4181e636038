/**
 * Connection pool for PostgreSQL. Every wait has a timeout, and all connections are closed when the server loses its
 * database lock.
 */
import { once } from "node:events";
import type { PostgresPool } from "kysely";
import pg from "pg";
import type { DatabaseLock } from "./database-lock.ts";
import { destroySocket, sessionOptions } from "./lock-session.ts";
import { StoreUnavailable, storeError } from "./unavailable.ts";

/**
 * Multiple of the database timeout after which a connection in use counts as hung and is closed. Only migrations and
 * `queryAtLength` may use a connection for longer.
 */
const longestUse = 6;
/** How long closing waits for the database to end its connections, in milliseconds. */
const farewell = 2000;

export class Connections implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #timeout: number;
  readonly #lock: DatabaseLock | undefined;
  readonly #open = new Set<pg.PoolClient>();
  /** Timers that close connections which are in use for too long. */
  readonly #cuts = new Map<pg.PoolClient, NodeJS.Timeout>();
  /** When the database last answered, by the monotonic clock. */
  #answeredAt = performance.now();

  constructor(url: string, timeout: number, lock: DatabaseLock | undefined, most: number) {
    this.#timeout = timeout;
    this.#lock = lock;
    this.#pool = new pg.Pool({
      ...sessionOptions(url, timeout),
      max: most,
      // Another session that keeps a lock, such as that of an operator, costs a server no more than a hanging database.
      ...(lock ? { idle_in_transaction_session_timeout: longestUse * timeout, lock_timeout: timeout } : {}),
    });
    // Node.js ends the process on an unhandled `error` event, so both the pool and each connection get a listener.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      tellStoreErrors(client, () => {
        this.#answeredAt = performance.now();
      });
      this.#open.add(client);
      client.once("end", () => this.#open.delete(client));
    });
    lock?.onLost(() => this.#destroyAll());
  }

  get options() {
    return this.#pool.options;
  }

  /** For how many milliseconds the database has not answered any statement of these connections. */
  get silence(): number {
    return performance.now() - this.#answeredAt;
  }

  /** Returns a connection, or fails at once with StoreUnavailable while the database is known to be unreachable. */
  async connect(): ReturnType<PostgresPool["connect"]> {
    const holding = this.#lock?.begin;
    if (this.#lock && holding === undefined) throw new StoreUnavailable("nothing");
    const client = await this.#pool.connect().catch(failed);
    if (this.#lock?.begin !== holding) {
      // The lock was lost and taken again meanwhile: this connection may lead to the old primary of a failover.
      client.release(true);
      throw new StoreUnavailable("nothing");
    }
    return client as unknown as Awaited<ReturnType<PostgresPool["connect"]>>;
  }

  /**
   * From now on, closes connections that are in use for too long. Migrations run before this call and have no such
   * limit.
   */
  limitUse(): void {
    this.#pool.on("acquire", (client) => {
      this.#cuts.set(client, setTimeout(() => destroySocket(client), longestUse * this.#timeout).unref());
    });
    this.#pool.on("release", (_error, client) => this.#spare(client as pg.PoolClient));
    this.#pool.on("remove", (client) => this.#spare(client as pg.PoolClient));
  }

  /**
   * Runs a statement that may take hours. The limits on the use of a connection and on the wait for a lock do not apply;
   * the statement is only ended early if the server loses its database lock.
   */
  async queryAtLength(text: string): Promise<void> {
    const client = (await this.connect()) as unknown as pg.PoolClient;
    this.#spare(client);
    try {
      await client.query("set lock_timeout = 0");
      await client.query(text);
    } finally {
      // Closed, because its limit is gone.
      client.release(true);
    }
  }

  #spare(client: pg.PoolClient): void {
    clearTimeout(this.#cuts.get(client));
    this.#cuts.delete(client);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  /**
   * Runs `close`, which must end the pool. Connections that have not ended after `farewell` milliseconds are destroyed,
   * because a connection that still waits for an answer would keep the process alive.
   */
  async closing(close: () => Promise<void>): Promise<void> {
    const hung = setTimeout(() => this.#destroyAll(), farewell);
    await close();
    await Promise.all([...this.#open].map((client) => once(client, "end")));
    clearTimeout(hung);
  }

  #destroyAll(): void {
    for (const client of this.#open) destroySocket(client);
  }
}

const failed = (error: unknown): never => {
  throw storeError(error);
};

/**
 * Makes every query of the connection reject with the store's own errors instead of the driver's. A session that turned
 * out to be read-only stays so even when the database accepts writes again, so its connection is closed. `onAnswer` is
 * called after each statement that succeeded.
 */
function tellStoreErrors(client: pg.PoolClient, onAnswer: () => void): void {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  const refused = (error: { code?: string }) => {
    if (error.code === "25006") destroySocket(client);
    return failed(error);
  };
  const answered = (result: unknown) => {
    onAnswer();
    return result;
  };
  client.query = ((...given: unknown[]) => query(...given).then(answered, refused)) as typeof client.query;
}
