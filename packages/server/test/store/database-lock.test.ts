/** One server writes to a database: a server that lost the lock writes nothing, and the next one starts after it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { type OwnPostgres, startOwnPostgres } from "@millrace/testing/servers/postgres.ts";
import { sql } from "kysely";
import pg from "pg";
import type { DatabaseLock } from "../../src/store/drivers/database-lock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { isUnavailable, StoreLocked, StoreUnavailable, storeError } from "../../src/store/drivers/unavailable.ts";
import { lockDatabase, openStore } from "../../src/store/opening/open-store.ts";
import { findUser, insertUser } from "../../src/store/queries/people/users.ts";
import { head, openRaw } from "../support/raw-http.ts";

describe("the lock on a database", { timeout: 120_000 }, () => {
  let postgres: OwnPostgres;
  before(async () => {
    postgres = await startOwnPostgres();
  });
  after(() => postgres.stop());

  const location = async () => ({ file: "", databaseUrl: await postgres.createDatabase(), databaseTimeout: 1 });
  async function take(where: Awaited<ReturnType<typeof location>>, onRival: (error: Error) => void = assert.fail) {
    const lock = await lockDatabase(where, { onRival });
    assert.ok(lock);
    return lock;
  }
  /** Ends every session of the database, or those with a matching name, as an operator may. */
  const terminate = (databaseUrl: string, name = "%") =>
    postgres.cluster.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${new URL(databaseUrl).pathname.slice(1)}' and application_name like '${name}'`,
    );
  async function regained(lock: DatabaseLock): Promise<void> {
    while (lock.isHeld) await sleep(5);
    while (!lock.isHeld) await sleep(5);
  }

  it("is taken again when its session ends, and writes continue", async () => {
    const where = await location();
    const lock = await take(where);
    const store = await openStore(where, undefined, lock);
    const number = () => store.write(async (db) => (await db.selectFrom("users").select("id").execute()).length);
    const before = await number();
    await Promise.all([regained(lock), terminate(where.databaseUrl)]);
    assert.equal(await number(), before);
    await store.close();
    await lock.release();
  });

  it("is taken again when the check of its session is refused", { timeout: 20_000 }, async (t) => {
    const where = await location();
    const relay = await relayTo(where.databaseUrl);
    t.after(() => relay.close());
    const lock = await take({ ...where, databaseUrl: relay.url });
    t.after(() => lock.release());
    const { begin } = lock;
    relay.garbles = true;
    await new Promise<void>((resolve) => lock.onLost(resolve));
    relay.garbles = false;
    while (!lock.isHeld) await sleep(5);
    assert.notEqual(lock.begin, begin);
  });

  it("has sessions at the isolation level that the store is written for, whatever the database's default is", async () => {
    const where = await location();
    const name = new URL(where.databaseUrl).pathname.slice(1);
    await postgres.cluster.query(`alter database "${name}" set default_transaction_isolation = 'serializable'`);
    const lock = await take(where);
    const store = await openStore(where, undefined, lock);
    const level = async (db: Store["db"]) =>
      (await sql<{ level: string }>`select current_setting('transaction_isolation') as level`.execute(db)).rows[0]
        ?.level;
    assert.deepEqual([await level(store.db), await store.write(level)], ["read committed", "read committed"]);
    await store.close();
    await lock.release();
  });

  it("is lost while the database is read-only, and writes work at once when it is writable again", {
    timeout: 60_000,
  }, async (t) => {
    const where = await location();
    const lock = await take(where);
    t.after(() => lock.release());
    const store = await openStore(where, undefined, lock);
    t.after(() => store.close());
    const name = new URL(where.databaseUrl).pathname.slice(1);
    let users = 0;
    const write = () => store.write((db) => insertUser(db, user(`writer-${++users}`)));
    await write();
    // As a managed database does when its disk is full: sessions that exist keep their own setting.
    await postgres.cluster.query(`alter database "${name}" set default_transaction_read_only = on`);
    const lost = new Promise<void>((resolve) => lock.onLost(resolve));
    await lost;
    await assert.rejects(write(), (error) => isUnavailable(error) && error.changed === "nothing");
    await postgres.cluster.query(`alter database "${name}" reset default_transaction_read_only`);
    while (!lock.isHeld) await sleep(5);
    for (let count = 0; count < 20; count++) await write();
  });

  it("is taken on the server that the address leads to, even while the old primary is still running", {
    timeout: 60_000,
  }, async (t) => {
    const next = await startOwnPostgres();
    const where = await location();
    const name = new URL(where.databaseUrl).pathname.slice(1);
    await next.cluster.query(`create database ${name}`);
    const relay = await relayTo(where.databaseUrl);
    const lock = await take({ ...where, databaseUrl: relay.url });
    const client = new pg.Client({ connectionString: new URL(`/${name}`, next.cluster.url).href });
    t.after(async () => {
      await client.end();
      await lock.release();
      relay.close();
      await next.stop();
    });
    const lost = new Promise<void>((resolve) => lock.onLost(resolve));
    relay.target = next.cluster.url;
    await lost;
    while (!lock.isHeld) await sleep(5);
    await client.connect();
    await client.query(lock.begin ?? "");
  });

  it("refuses writes from the moment its session ends, in the database itself", async () => {
    const where = await location();
    const lock = await take(where);
    const client = new pg.Client({ connectionString: where.databaseUrl });
    await client.connect();
    const { begin = "" } = lock;
    await client.query(begin);
    await client.query("commit");
    await Promise.all([regained(lock), terminate(where.databaseUrl, "millrace %")]);
    // Simulates a connection that does not know yet: the number of the old session is not valid any more.
    await assert.rejects(client.query(begin), /division by zero/);
    await client.query("rollback");
    assert.notEqual(lock.begin, begin);
    await client.end();
    await lock.release();
  });

  it("is given to the next server only after the writes of the last holder have ended", async () => {
    const where = await location();
    const first = await take(where);
    const writer = new pg.Client({ connectionString: where.databaseUrl });
    await writer.connect();
    await writer.query(first.begin ?? "");
    await first.release();
    const order: string[] = [];
    const second = take({ ...where, databaseTimeout: 30 }).then((lock) => {
      order.push("taken");
      return lock;
    });
    await sleep(500);
    order.push("committed");
    await writer.query("commit");
    await (await second).release();
    assert.deepEqual(order, ["committed", "taken"]);
    await writer.end();
  });

  it("is exclusive: the second server is refused, and a holder that was replaced is notified", async () => {
    const where = await location();
    const rival = Promise.withResolvers<Error>();
    const first = await take(where, rival.resolve);
    await assert.rejects(take(where), /Another Millrace server uses this database/);
    const thief = new pg.Client({ connectionString: where.databaseUrl });
    await thief.connect();
    const stealing = thief.query("select pg_advisory_lock(1835625581)");
    await terminate(where.databaseUrl, "millrace %");
    await stealing;
    assert.match((await rival.promise).message, /Another Millrace server/);
    assert.equal(first.begin, undefined);
    await first.release();
    await thief.end();
  });

  it("distinguishes a commit whose answer was lost from a write that never started", async () => {
    const where = await location();
    const lock = await take(where);
    const store = await openStore(where, undefined, lock);
    await store.write(async (db) => {
      await insertUser(db, user("kept"));
    });
    const cut = store.write(async (db) => {
      await insertUser(db, user("cut"));
      await postgres.cluster.pause();
    });
    await assert.rejects(cut, (error) => error instanceof StoreUnavailable && error.changed === "unknown");
    await assert.rejects(
      store.write(async () => {}),
      (error) => error instanceof StoreUnavailable && error.changed === "nothing",
    );
    assert.equal(store.isReachable(), false);
    await postgres.cluster.resume();
    while (!store.isReachable()) await sleep(5);
    assert.ok(await findUser(store.db, "kept"));
    await store.close();
    await lock.release();
  });

  it("fails what waits for the lock of another session, as if the database were away; and goes on afterwards", {
    timeout: 30_000,
  }, async (t) => {
    const where = await location();
    const lock = await take(where);
    const store = await openStore(where, undefined, lock);
    const operator = new pg.Client({ connectionString: where.databaseUrl });
    await operator.connect();
    t.after(async () => {
      await operator.end();
      await store.close();
      await lock.release();
    });
    const isLocked = (error: unknown) => error instanceof StoreLocked && error.changed === "nothing";
    const add = (name: string) => store.write((db) => insertUser(db, user(name)));
    await operator.query("begin; lock table users");
    const begun = performance.now();
    await Promise.all([
      assert.rejects(findUser(store.db, "ada"), isLocked, "a reading"),
      assert.rejects(add("ada"), isLocked, "a write"),
    ]);
    assert.ok(performance.now() - begun < 5000);
    await operator.query("commit");
    await add("ada");
    assert.ok(await findUser(store.db, "ada"));
  });

  it("lets a migration wait for whoever uses the tables", { timeout: 30_000 }, async (t) => {
    const where = await location();
    await (await openStore(where)).close();
    const operator = new pg.Client({ connectionString: where.databaseUrl });
    await operator.connect();
    const lock = await take(where);
    t.after(async () => {
      await operator.end();
      await lock.release();
    });
    await operator.query("begin; lock table schema_version");
    const opening = openStore(where, undefined, lock);
    await sleep(3000);
    await operator.query("commit");
    await (await opening).close();
  });

  it("does not interrupt compacting, however long it takes", { timeout: 30_000 }, async (t) => {
    const where = await location();
    const lock = await take(where);
    const store = await openStore(where, undefined, lock);
    const reader = new pg.Client({ connectionString: where.databaseUrl });
    t.after(async () => {
      await reader.end();
      await store.close();
      await lock.release();
    });
    await reader.connect();
    await reader.query("begin; lock table jobs in access share mode");
    const compacted = store.compact().then(
      () => "done",
      (error: Error) => error.message,
    );
    // Longer than any other use of a connection may take.
    await sleep(7000);
    await reader.query("commit");
    assert.equal(await compacted, "done");
  });
});

/**
 * A proxy in front of a database. It can replace the next queries of its sessions with invalid ones, and lead new
 * connections to another database.
 */
async function relayTo(databaseUrl: string) {
  const question = Buffer.from("select current_setting");
  const server = createServer((client) => {
    const { hostname, port } = new URL(relay.target);
    const database = connect(Number(port), hostname).on("error", () => client.destroy());
    client.on("error", () => database.destroy()).on("close", () => database.destroy());
    database.on("close", () => client.destroy()).pipe(client);
    client.on("data", (bytes: Buffer) => {
      const at = relay.garbles ? bytes.indexOf(question) : -1;
      if (at >= 0) bytes.write("select x", at);
      database.write(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const relay = { url: url.href, target: databaseUrl, garbles: false, close: () => server.close() };
  return relay;
}

const user = (username: string) => ({
  username,
  first_name: "",
  last_name: "",
  email: "",
  is_admin: 0,
  created_at: new Date().toISOString(),
});

describe("an unavailable store is recognised by the driver's error", () => {
  const error = (properties: object, message = "") => Object.assign(new Error(message), properties);
  const isAway = (said: Error) => isUnavailable(storeError(said));
  it("of sockets, of PostgreSQL and of SQLite; and no other error is", () => {
    for (const [code, syscall] of [
      ["ECONNREFUSED", "connect"],
      ["ECONNRESET", "read"],
      ["EPIPE", "write"],
      ["ENOTFOUND", "getaddrinfo"],
    ] as const)
      assert.ok(isAway(error({ code, syscall })), code);
    for (const code of ["57P01", "57P02", "57P03", "08006", "53300", "25006"]) assert.ok(isAway(error({ code })), code);
    for (const message of [
      "Connection terminated unexpectedly",
      "timeout exceeded when trying to connect",
      "This socket has been ended by the other party",
    ])
      assert.ok(isAway(new Error(message)), message);
    for (const errcode of [5, 261, 517, 10, 8, 14]) assert.ok(isAway(error({ errcode })), String(errcode));
    for (const errcode of [13, 778, 19, 11]) assert.ok(!isAway(error({ errcode })), String(errcode));
    for (const code of ["23505", "40001", "53100", "ENOSPC", "ENOENT", "22012"])
      assert.ok(!isAway(error({ code })), code);
  });

  it("and not by a request whose caller aborts its body", async (t) => {
    const server = createHttpServer().listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { socket } = await openRaw(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      `${head("POST /", { "content-length": 100 })}{`,
    );
    const [request] = (await once(server, "request")) as [IncomingMessage];
    const failed = once(request.resume(), "error");
    socket.destroy();
    const [failure] = (await failed) as [NodeJS.ErrnoException];
    assert.deepEqual([failure.code, isUnavailable(failure)], ["ECONNRESET", false]);
  });

  it("also if a name has several addresses, or the connection is lost before TLS is negotiated", async (t) => {
    const failureOf = async (client: pg.Client): Promise<NodeJS.ErrnoException> => {
      client.on("error", () => {});
      const error = await client.connect().catch((error: Error) => error);
      assert.ok(error instanceof Error);
      return error;
    };
    const lookup = (_name: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [
        { address: "127.0.0.1", family: 4 },
        { address: "127.0.0.2", family: 4 },
      ]);
    const stream = () => {
      const socket = new Socket();
      const connect = socket.connect.bind(socket) as (options: object) => Socket;
      return Object.assign(socket, { connect: (port: number) => connect({ port, host: "several", lookup }) });
    };
    const several = await failureOf(new pg.Client({ host: "several", port: 1, stream }));
    assert.ok(several instanceof AggregateError && isAway(several), several.message);

    const server = createServer((socket) => socket.once("data", () => socket.end("S"))).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const lost = await failureOf(new pg.Client({ host: "127.0.0.1", port, ssl: { rejectUnauthorized: false } }));
    assert.deepEqual([lost.syscall, isAway(lost)], [undefined, true], lost.message);
  });

  it("and the store itself reports it, whatever the query", { timeout: 60_000 }, async (t) => {
    const postgres = await startOwnPostgres();
    t.after(() => postgres.stop());
    const where = { file: "", databaseUrl: await postgres.createDatabase(), databaseTimeout: 10 };
    const store = await openStore(where);
    t.after(() => store.close());
    const cut = () => sql`select pg_terminate_backend(pg_backend_pid())`;
    await assert.rejects(cut().execute(store.db), StoreUnavailable, "a reading");
    await assert.rejects(
      store.write((db) => cut().execute(db)),
      (error) => error instanceof StoreUnavailable && error.changed === "nothing",
    );
    await assert.rejects(
      sql`select 1 / 0`.execute(store.db),
      /division by zero/,
      "what is wrong with a question is told",
    );
    await postgres.cluster.down();
    await assert.rejects(findUser(store.db, "admin"), StoreUnavailable, "a connection");

    const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
    const embedded = await openStore(storeIn(dataDir));
    t.after(async () => {
      await embedded.close();
      await rm(dataDir, { recursive: true });
    });
    await assert.rejects(embedded.db.deleteFrom("users").execute(), StoreUnavailable, "its connection only reads");
    await assert.rejects(sql`select wrong`.execute(embedded.db), /no such column/);
  });
});
