/** The embedded store: node:sqlite under Kysely, one connection that writes and one that reads. */
import { chmodSync, closeSync, existsSync, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Kysely, type SqliteDatabase, SqliteDialect } from "kysely";
import { type Asker, currentAsker, requireWriter } from "../../turns/asker.ts";
import type { Tables } from "../schema/tables.ts";
import type { Prepare } from "./prepare.ts";
import { runDirectly } from "./prepared.ts";
import type { Db, Store } from "./store.ts";
import { storeError } from "./unavailable.ts";
import { WritesInTurn } from "./writes-in-turn.ts";

const dialect = { identity: "integer primary key autoincrement" };

export async function openSqlite(path: string, prepare: Prepare): Promise<Store> {
  makePrivate(path);
  const writer = connect(path);
  // In memory: a temporary file would need room on a disk that may be full.
  writer.exec("pragma temp_store = memory");
  const batcher = new CommitBatcher(writer, kysely(writer));
  await batcher
    .write((db) => prepare(db, dialect))
    .catch((error) => {
      writer.close();
      throw error;
    });
  const reader = connect(path);
  reader.exec("pragma query_only = on");
  reader.function("lower_case", { deterministic: true }, (text) => String(text).toLowerCase());
  const db = kysely(reader);
  const reserve = () => batcher.write(async () => reserveRoom(`${path}-wal`));
  return {
    kind: "sqlite",
    db,
    write: (work) => batcher.write(work),
    isReachable: () => true,
    reserve,
    async compact() {
      await batcher.idle();
      writer.exec("vacuum; pragma wal_checkpoint(truncate)");
      await reserve();
    },
    async close() {
      await batcher.idle();
      await db.destroy();
      // The query builder closes only what it has used.
      if (reader.isOpen) reader.close();
      writer.close();
    },
  };
}

/** For its owner alone, from its first byte on; the files that SQLite puts beside it get the same rights. */
function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/** Bytes of the write-ahead log that are there before they are needed: as many as its first index covers. */
const reserved = 16_000_000;

/**
 * On a full disk cancellations, ends of jobs and sign-ins must still be written. SQLite writes its log over what is there
 * and never shortens it, and takes what follows the last commit for nothing: so the log is made long beforehand. Called
 * inside a write: nobody else writes to the log meanwhile. Where even that finds no room, the next start tries again.
 */
function reserveRoom(log: string): void {
  const file = openSync(log, "r+");
  try {
    const zeros = Buffer.alloc(1_000_000);
    for (let end = fstatSync(file).size; end < reserved; end += zeros.length)
      writeSync(file, zeros, 0, zeros.length, end);
    fsyncSync(file);
  } catch (error) {
    if (!isFull(error)) throw error;
  } finally {
    closeSync(file);
  }
}

const isFull = (error: unknown) => ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");

function connect(path: string): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: 15_000 });
  // Full sync in WAL mode: a commit that returned survives a power cut.
  connection.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
  return connection;
}

function kysely(connection: DatabaseSync): Db {
  const database = adapt(connection);
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) });
  runDirectly(db, (sql, parameters) => {
    const statement = database.prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters), affected: 0n };
    return { rows: [], affected: BigInt(statement.run(parameters).changes) };
  });
  return db;
}

/** Kysely expects the shape of another driver. Statements are prepared once: preparing costs more than running. */
function adapt(connection: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, ReturnType<typeof wrap>>();
  return {
    close: () => connection.close(),
    prepare(sql) {
      let statement = statements.get(sql);
      if (!statement) {
        // Texts vary with the length of lists; a plain bound keeps the map small.
        if (statements.size > 500) statements.clear();
        statement = wrap(asStore(() => connection.prepare(sql)));
        statements.set(sql, statement);
      }
      return statement;
    },
  };
}

/**
 * Rows come as arrays and are made objects here: the driver's own have no prototype and no fixed shape, which costs both
 * it and whoever reads them.
 */
function wrap(statement: StatementSync) {
  const names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  const toRow = (values: unknown) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index++) row[names[index] as string] = (values as unknown[])[index];
    return row;
  };
  return {
    reader: names.length > 0,
    all: (parameters: readonly unknown[]) =>
      (asStore(() => statement.all(...bind(parameters))) as unknown[]).map(toRow),
    run: (parameters: readonly unknown[]) => asStore(() => statement.run(...bind(parameters))),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...bind(parameters)).map(toRow),
  };
}

/** What the driver says becomes what the store says. */
function asStore<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeError(error);
  }
}

interface Pending {
  readonly asker: Asker | undefined;
  readonly work: (db: Db) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** How long writes may hold the event loop before others have a turn. */
const turnMs = 20;
/** Writes that share a commit at most. */
const mostTogether = 128;

/**
 * Writes that arrive together share one commit, so that they share one wait for the disk. Each runs in a savepoint
 * of its own: one that fails takes nothing else along. Whoever asked for them takes turns.
 */
class CommitBatcher {
  readonly #connection: DatabaseSync;
  readonly #db: Db;
  readonly #waiting = new WritesInTurn<Pending>();
  #draining: Promise<void> | undefined;

  constructor(connection: DatabaseSync, db: Db) {
    this.#connection = connection;
    this.#db = db;
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add({ asker: currentAsker(), work, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  async idle(): Promise<void> {
    while (this.#draining) await this.#draining;
  }

  async #drain(): Promise<void> {
    // Let the requests that are already readable join the first batch.
    await new Promise(setImmediate);
    while (this.#waiting.size > 0) {
      const batch = this.#waiting.take(mostTogether, performance.now());
      if (batch.length === 0) await this.#waiting.nextArrivalOrEndOfRest(performance.now());
      else await this.#commit(batch);
      // The driver is synchronous: without this, writes that keep coming would let nobody else have a turn.
      await new Promise(setImmediate);
    }
    this.#draining = undefined;
  }

  /** Takes as many as fit into a turn; the others wait on, as the first of their owners'. */
  async #commit(batch: readonly Pending[]): Promise<void> {
    const settle: (() => void)[] = [];
    let taken = 0;
    const begun = performance.now();
    try {
      this.#undo();
      this.#connection.exec("begin immediate");
      for (const pending of batch) {
        taken++;
        const before = performance.now();
        settle.push(await this.#attempt(pending));
        const now = performance.now();
        if (now - before > turnMs) this.#waiting.rest(pending, now, now - before);
        if (now - begun > turnMs) break;
      }
      this.#connection.exec("commit");
    } catch (error) {
      this.#undo();
      this.#waiting.putBack(batch.slice(taken));
      for (const { reject } of batch.slice(0, taken)) reject(storeError(error));
      return;
    }
    this.#waiting.putBack(batch.slice(taken));
    for (const announce of settle) announce();
  }

  /** On a disk with errors even this may fail; the next write tries again, and nobody waits for ever. */
  #undo(): void {
    try {
      if (this.#connection.isTransaction) this.#connection.exec("rollback");
    } catch {}
  }

  async #attempt({ asker, work, resolve, reject }: Pending): Promise<() => void> {
    this.#connection.exec("savepoint work");
    try {
      requireWriter(asker);
      const value = await work(this.#db);
      this.#connection.exec("release work");
      return () => resolve(value);
    } catch (error) {
      // Where the disk is full the whole transaction may be undone already; then nobody in it has written anything.
      if (!this.#connection.isTransaction) throw error;
      this.#connection.exec("rollback to work; release work");
      return () => reject(error);
    }
  }
}
