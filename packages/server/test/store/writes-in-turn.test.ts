/** The store is shared: a team that writes much, or whose writes wait for each other, does not block others. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it, type TestContext } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import pg from "pg";
import { prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { ReadsInTurn } from "../../src/store/drivers/reads-in-turn.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { WritesInTurn } from "../../src/store/drivers/writes-in-turn.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { lockTeam } from "../../src/store/queries/people/teams.ts";
import { findUser } from "../../src/store/queries/people/users.ts";
import { type Asker, askedBy } from "../../src/turns/asker.ts";

let postgres: TestPostgres;
let databaseUrl: string;
let store: Store;
before(async () => {
  postgres = await startPostgres();
  databaseUrl = await postgres.createDatabase();
  store = await openStore(storeIn("", databaseUrl));
  await prepareStore(store, Date.now());
});
after(async () => {
  await store?.close();
  await postgres?.stop();
});

const asked = <T>(team: number, work: () => Promise<T>, caller = team) =>
  askedBy({ caller, team, hasGone: () => false }, work);

it("on PostgreSQL others read, and so does the server itself, while many reads of one team take long", async () => {
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query("begin; lock table exports in access exclusive mode");
  let ended = 0;
  // One caller of team 1, and then many callers of it.
  const slow = Array.from({ length: 60 }, (_, index) =>
    asked(1, () => store.db.selectFrom("exports").select("id").execute(), index % 20).then(() => ended++),
  );
  for (let times = 0; times < 5; times++) {
    assert.equal((await asked(2, () => findUser(store.db, "admin")))?.username, "admin", "another team");
    assert.equal((await findUser(store.db, "admin"))?.username, "admin", "the server itself");
  }
  assert.equal(ended, 0, "they still wait");
  await holder.query("rollback");
  await Promise.all(slow);
  assert.equal(ended, 60, "a long queue is no failure");
  await holder.end();
});

it("a read gives up its place in the queue only if the database answers nobody", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let silence = 0;
  const reads = new ReadsInTurn({ asked: 1, ofOneTeam: 1, timeout: 1000 }, () => silence);
  const end = await asked(1, () => reads.take());
  const waiting = asked(2, () => reads.take());
  t.mock.timers.tick(5000);
  silence = 1000;
  t.mock.timers.tick(1000);
  await assert.rejects(waiting, { name: "StoreUnavailable" });
  const next = asked(3, () => reads.take());
  end();
  (await next)();
  (await asked(4, () => reads.take()))();
});

it("on PostgreSQL others read and write, and loops run, while many writes of one team wait for the same row", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = () => {};
  const locked = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const holder = store.write(async (db) => {
    await lockTeam(db, 1);
    begun();
    await released;
  });
  await locked;
  let ended = 0;
  const waiting = Array.from({ length: 40 }, () =>
    asked(1, () => store.write((db) => lockTeam(db, 1))).then(() => ended++),
  );
  assert.equal((await findUser(store.db, "admin"))?.username, "admin", "a read");
  const write = () => store.write((db) => db.updateTable("users").set({ last_name: "A" }).execute());
  for (let times = 0; times < 5; times++) await asked(2, write);
  await write();
  assert.equal(ended, 0, "they still wait");
  release();
  await Promise.all([holder, ...waiting]);
  assert.equal(ended, 40);
});

async function embedded(t: TestContext): Promise<Store> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-turns-"));
  const own = await openStore(storeIn(dataDir));
  t.after(async () => {
    await own.close();
    await rm(dataDir, { recursive: true });
  });
  return own;
}

/** Blocks the event loop, as a write of many rows does. */
function hold(milliseconds: number): void {
  for (const begun = performance.now(); performance.now() - begun < milliseconds; ) {}
}

it("on SQLite others write between the long writes of one team", async (t) => {
  const own = await embedded(t);
  const done: string[] = [];
  const write = (team: number | undefined, name: string, milliseconds: number) => {
    const work = () =>
      own
        .write(async () => hold(milliseconds))
        .then(() => {
          done.push(name);
        });
    return team === undefined ? work() : asked(team, work);
  };
  const long = Array.from({ length: 30 }, () => write(1, "long", 40));
  await long[0];
  const short = [write(2, "other", 0), write(undefined, "loop", 0), write(3, "third", 0)];
  await Promise.all(short);
  const between = done.filter((name) => name === "long").length;
  assert.ok(between <= 3, `${between} long writes came before the short ones`);
  await Promise.all(long);
  assert.equal(done.length, 33, "all are done, those of the team that rested too");
});

it("writes of one team keep their order, whatever pauses and is put back", () => {
  const waiting = new WritesInTurn<{ asker: Asker; name: string }>();
  const askerOf = (team: number): Asker => ({ caller: 7, team, hasGone: () => false });
  for (const name of ["a1", "a2", "b1", "a3", "b2"])
    waiting.add({ asker: askerOf(name.startsWith("a") ? 1 : 2), name });
  const names = (writes: readonly { name: string }[]) => writes.map(({ name }) => name);
  const first = waiting.take(3, 0);
  assert.deepEqual(names(first), ["a1", "b1", "a2"], "one of each, in turn");
  waiting.rest({ asker: askerOf(1), name: "" }, 0, 50);
  waiting.putBack(first.slice(1));
  assert.equal(waiting.size, 4);
  assert.deepEqual(names(waiting.take(10, 10)), ["b1", "b2"], "while the one rests");
  assert.deepEqual(names(waiting.take(10, 60)), ["a2", "a3"]);
  assert.equal(waiting.size, 0);
});

for (const kind of ["SQLite", "PostgreSQL"]) {
  it(`on ${kind} the members of a team write in turn, however much one of them requests`, async (t) => {
    const shared = kind === "SQLite" ? await embedded(t) : store;
    const [eager, other] = [1, 2];
    const done: number[] = [];
    const write = (caller: number) =>
      asked(1, () => shared.write(async () => hold(5)).then(() => done.push(caller)), caller);
    const many = Array.from({ length: 30 }, () => write(eager));
    await many[0];
    await write(other);
    assert.ok(done.indexOf(other) < 12, `${done.indexOf(other)} writes of the other came before`);
    await Promise.all(many);
  });

  it(`on ${kind} a write does not start for a disconnected caller; a started write is completed`, async (t) => {
    const shared = kind === "SQLite" ? await embedded(t) : store;
    let gone = true;
    let begun = 0;
    const write = () => shared.write(async () => begun++);
    const request = <T>(work: () => Promise<T>) => askedBy({ caller: 1, team: 1, hasGone: () => gone }, work);
    await assert.rejects(request(write), /closed the connection/);
    assert.equal(begun, 0);
    gone = false;
    await request(async () => {
      await write();
      gone = true;
      await write();
    });
    assert.equal(begun, 2);
  });
}
