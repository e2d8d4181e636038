/** Connections to PostgreSQL are shared: a team whose writes wait for each other keeps nobody else from the database. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { startPostgres, type TestPostgres } from "../../../../e2e/support/postgres.ts";
import { prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { lockTeam } from "../../src/store/queries/people/teams.ts";
import { findUser } from "../../src/store/queries/people/users.ts";
import { askedBy } from "../../src/turns/asker.ts";

let postgres: TestPostgres;
let store: Store;
before(async () => {
  postgres = await startPostgres();
  store = await openStore({ dataDir: "", databaseUrl: await postgres.createDatabase() });
  await prepareStore(store, Date.now());
});
after(async () => {
  await store?.close();
  await postgres?.stop();
});

const asked = <T>(team: number, work: () => Promise<T>) => askedBy({ caller: team, team, hasGone: () => false }, work);

it("others read and write, and so do loops, while many writes of one team wait for the same row", async () => {
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
