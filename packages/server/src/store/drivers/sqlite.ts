/** The store on SQLite: node:sqlite under Kysely, with one connection for writes and one for reads. */
import { chmodSync, closeSync, existsSync, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { Kysely, type LimitNode, type SqliteDatabase, SqliteDialect, SqliteQueryCompiler } from "kysely";
import { type Asker, askedBy, currentAsker, requireWriter } from "../../turns/asker.ts";
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
  // Temporary tables in memory need no space on a disk that may be full.
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
      // Kysely closes a connection only if it was used.
      if (reader.isOpen) reader.close();
      writer.close();
    },
  };
}

/**
 * Creates the database file so that only its owner can access it, and sets the same permissions on existing files.
 * SQLite creates its side files (-wal and -shm) with the permissions of the database file.
 */
function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/**
 * Bytes of the write-ahead log that are allocated in advance. While the log is no longer than this, its index (the -shm
 * file) does not grow either, so that writing to the log needs no free disk space at all.
 */
const reserved = 16_000_000;

/**
 * Extends the write-ahead log in advance, so that cancellations, ends of jobs and sign-ins can be written when the disk
 * is full. SQLite overwrites the log in place, never shortens it, and ignores bytes after the last commit. Must be
 * called inside a write, when nobody else writes to the log. If the disk is already full, the next start tries again.
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
  // Full sync in WAL mode: a commit that returned survives a power failure.
  connection.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
  return connection;
}

function kysely(connection: DatabaseSync): Db {
  const database = adapt(connection);
  const db = new Kysely<Tables>({ dialect: new CompiledOnce({ database }) });
  runDirectly(db, (sql, parameters) => {
    const statement = database.prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters), affected: 0n };
    return { rows: [], affected: BigInt(statement.run(parameters).changes) };
  });
  return db;
}

/**
 * SQLite uses the value of a bare `limit ?` for its plan, and so compiles the statement again each time a value is
 * bound. It does not look into a cast.
 */
class CastLimits extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    this.append("limit cast(");
    this.visitNode(node.limit);
    this.append(" as integer)");
  }
}

class CompiledOnce extends SqliteDialect {
  override createQueryCompiler() {
    return new CastLimits();
  }
}

/**
 * Adapts node:sqlite to the driver interface that Kysely expects, with a cache of prepared statements because preparing
 * costs more than running.
 */
function adapt(connection: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, ReturnType<typeof wrap>>();
  return {
    close: () => connection.close(),
    prepare(sql) {
      let statement = statements.get(sql);
      if (!statement) {
        // SQL texts vary with the length of value lists, so the cache needs a limit.
        if (statements.size > 500) statements.clear();
        statement = wrap(asStore(() => connection.prepare(sql)));
        statements.set(sql, statement);
      }
      return statement;
    },
  };
}

/**
 * Reads rows as arrays and builds objects here: the driver's own objects have no prototype and no fixed shape, which
 * makes both creating and reading them slow. An object literal has a fixed shape, so its code is generated from the
 * names of the columns.
 */
function wrap(statement: StatementSync) {
  const names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
  const fields = names.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  const toRow = new Function("values", `return { ${fields.join(", ")} }`) as (values: unknown) => unknown;
  return {
    reader: names.length > 0,
    all: (parameters: readonly unknown[]) =>
      (asStore(() => statement.all(...bind(parameters))) as unknown[]).map(toRow),
    run: (parameters: readonly unknown[]) => asStore(() => statement.run(...bind(parameters))),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...bind(parameters)).map(toRow),
  };
}

/** Runs `work` and converts errors of the driver to errors of the store. */
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

/** How long writes may block the event loop before other work runs, in milliseconds. */
const turnMs = 20;
/** Largest number of writes in one commit. */
const mostTogether = 128;

/**
 * Groups concurrent writes into one commit, so that they share one fsync. Each write runs in its own savepoint, so a
 * failed one does not affect the others. Teams and their members take turns.
 */
class CommitBatcher {
  readonly #connection: DatabaseSync;
  readonly #db: Db;
  readonly #begin: StatementSync;
  readonly #commitAll: StatementSync;
  readonly #save: StatementSync;
  readonly #release: StatementSync;
  readonly #waiting = new WritesInTurn<Pending>();
  #draining: Promise<void> | undefined;

  constructor(connection: DatabaseSync, db: Db) {
    this.#connection = connection;
    this.#db = db;
    this.#begin = connection.prepare("begin immediate");
    this.#commitAll = connection.prepare("commit");
    this.#save = connection.prepare("savepoint work");
    this.#release = connection.prepare("release work");
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
      // The driver is synchronous: without this pause, a steady stream of writes would block the event loop.
      await new Promise(setImmediate);
    }
    this.#draining = undefined;
  }

  /** Commits as many writes as fit into `turnMs`; the others go back to the front of their queues. */
  async #commit(batch: readonly Pending[]): Promise<void> {
    const settle: (() => void)[] = [];
    let taken = 0;
    const begun = performance.now();
    try {
      this.#undo();
      this.#begin.run();
      for (const pending of batch) {
        taken++;
        const before = performance.now();
        settle.push(await (batch.length === 1 ? this.#alone(pending) : this.#attempt(pending)));
        const now = performance.now();
        if (now - before > turnMs) this.#waiting.rest(pending, now, now - before);
        if (now - begun > turnMs) break;
      }
      this.#commitAll.run();
    } catch (error) {
      this.#undo();
      this.#waiting.putBack(batch.slice(taken));
      for (const { reject } of batch.slice(0, taken)) reject(storeError(error));
      return;
    }
    this.#waiting.putBack(batch.slice(taken));
    for (const announce of settle) announce();
  }

  /** Rolls back an open transaction. This may fail on a broken disk; the next write tries again. */
  #undo(): void {
    try {
      if (this.#connection.isTransaction) this.#connection.exec("rollback");
    } catch {}
  }

  /** Runs the only write of a commit. It needs no savepoint: if it fails, so does the whole transaction. */
  async #alone({ asker, work, resolve }: Pending): Promise<() => void> {
    requireWriter(asker);
    const value = await askedBy(asker, () => work(this.#db));
    return () => resolve(value);
  }

  async #attempt({ asker, work, resolve, reject }: Pending): Promise<() => void> {
    this.#save.run();
    try {
      requireWriter(asker);
      const value = await askedBy(asker, () => work(this.#db));
      this.#release.run();
      return () => resolve(value);
    } catch (error) {
      // When the disk is full, SQLite may have rolled back the whole transaction; then the entire batch fails.
      if (!this.#connection.isTransaction) throw error;
      this.#connection.exec("rollback to work; release work");
      return () => reject(error);
    }
  }
}
