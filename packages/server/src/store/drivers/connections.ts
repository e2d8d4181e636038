/** The pool of connections to PostgreSQL: none is waited for without end, and none outlives the lock of its server. */
import { once } from "node:events";
import type { PostgresPool } from "kysely";
import pg from "pg";
import type { DatabaseLock } from "./database-lock.ts";
import { destroySocket, sessionOptions } from "./lock-session.ts";
import { StoreUnavailable, storeError } from "./unavailable.ts";

/** A use that lasts so many times the time-out hangs: nothing that a server asks of its store takes as long. */
const longestUse = 6;
/** How long closing waits for the database to say goodbye. */
const farewell = 2000;

export class Connections implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #timeout: number;
  readonly #lock: DatabaseLock | undefined;
  readonly #open = new Set<pg.PoolClient>();
  /** What cuts those in use. */
  readonly #cuts = new Map<pg.PoolClient, NodeJS.Timeout>();

  constructor(url: string, timeout: number, lock: DatabaseLock | undefined, most: number) {
    this.#timeout = timeout;
    this.#lock = lock;
    this.#pool = new pg.Pool({
      ...sessionOptions(url, timeout),
      max: most,
      ...(lock ? { idle_in_transaction_session_timeout: longestUse * timeout } : {}),
    });
    // An error that nobody listens to would end the process: of one that is idle, and of one in use.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      tellStoreErrors(client);
      this.#open.add(client);
      client.once("end", () => this.#open.delete(client));
    });
    lock?.onLost(() => this.#destroyAll());
  }

  get options() {
    return this.#pool.options;
  }

  /** Refuses at once while the database is known to be away. */
  async connect(): ReturnType<PostgresPool["connect"]> {
    const holding = this.#lock?.begin;
    if (this.#lock && holding === undefined) throw new StoreUnavailable("nothing");
    const client = await this.#pool.connect().catch(failed);
    if (this.#lock?.begin !== holding) {
      // It may lead to a server that was failed over from.
      client.release(true);
      throw new StoreUnavailable("nothing");
    }
    return client as unknown as Awaited<ReturnType<PostgresPool["connect"]>>;
  }

  /** From now on, a connection that hangs while the database is alive is cut. */
  limitUse(): void {
    this.#pool.on("acquire", (client) => {
      this.#cuts.set(client, setTimeout(() => destroySocket(client), longestUse * this.#timeout).unref());
    });
    this.#pool.on("release", (_error, client) => this.#spare(client as pg.PoolClient));
    this.#pool.on("remove", (client) => this.#spare(client as pg.PoolClient));
  }

  /** For what may take hours: only the loss of the lock cuts it. */
  async queryAtLength(text: string): Promise<void> {
    const client = (await this.connect()) as unknown as pg.PoolClient;
    this.#spare(client);
    try {
      await client.query(text);
    } finally {
      client.release();
    }
  }

  #spare(client: pg.PoolClient): void {
    clearTimeout(this.#cuts.get(client));
    this.#cuts.delete(client);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  /** Does what closes the pool, and sees that no connection is left: one that waits for an answer would hold the process. */
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

/** Here, and where a connection is asked for, what the driver says becomes what the store says. */
function tellStoreErrors(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  client.query = ((...given: unknown[]) => query(...given).catch(failed)) as typeof client.query;
}
