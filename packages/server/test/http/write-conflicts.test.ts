/** Writes that the database rolls back for the sake of others: tried again, and then refused as something that passes. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { sql } from "kysely";
import pg from "pg";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("a request whose write is rolled back for the sake of others", () => {
  let postgres: TestPostgres;
  let server: InProcessServer;
  before(async () => {
    postgres = await startPostgres();
    server = await startInProcess({ MILLRACE_DATABASE_URL: await postgres.createDatabase() });
    await sql`create sequence rollbacks`.execute(server.store.db);
  });
  after(async () => {
    await server?.dispose();
    await postgres?.stop();
  });

  /** So many times the database itself rolls a new job back with this code. A sequence counts, whatever is rolled back. */
  async function rollBack(times: number, code: string): Promise<void> {
    const { db } = server.store;
    await sql`drop trigger if exists roll_back on jobs`.execute(db);
    await sql`alter sequence rollbacks restart`.execute(db);
    await sql`create or replace function roll_back() returns trigger language plpgsql as $$ begin
      if nextval('rollbacks') <= ${sql.lit(times)} then
        raise exception 'rolled back' using errcode = ${sql.lit(code)};
      end if;
      return new; end $$`.execute(db);
    await sql`create trigger roll_back before insert on jobs for each row execute function roll_back()`.execute(db);
  }
  const tries = async () =>
    (await sql<{ last_value: number }>`select last_value from rollbacks`.execute(server.store.db)).rows[0]?.last_value;
  const create = () => server.fetch("/api/datachain/jobs/", { json: { ...shell("true"), team_name: "main" } });
  const jobs = async () => (await server.store.db.selectFrom("jobs").select("id").execute()).length;

  for (const code of ["40P01", "40001"]) {
    it(`${code}: takes effect once where a later try succeeds`, async () => {
      const before = await jobs();
      await rollBack(4, code);
      assert.equal((await create()).status, 200);
      assert.deepEqual([await tries(), await jobs()], [5, before + 1]);
    });

    it(`${code}: is answered with 503 and Retry-After where none does, and has changed nothing`, async () => {
      const before = await jobs();
      await rollBack(1000, code);
      const answer = await create();
      assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "2"]);
      const { code: word, message } = (await answer.json()) as { code: string; message: string };
      assert.equal(word, "unavailable");
      assert.match(message, /Other requests kept changing the same data.*Nothing was changed/);
      assert.deepEqual([await tries(), await jobs()], [5, before]);
    });
  }
});

describe("while another session keeps a lock on a table", () => {
  it("requests get 503 with the reason and the server is not ready; afterwards everything goes on", async (t) => {
    const postgres = await startPostgres();
    const databaseUrl = await postgres.createDatabase();
    const settings = { MILLRACE_DATABASE_URL: databaseUrl, MILLRACE_DATABASE_TIMEOUT: "2" };
    const server = await startInProcess(settings);
    const operator = new pg.Client({ connectionString: databaseUrl });
    await operator.connect();
    t.after(async () => {
      await operator.end();
      await server.dispose();
      await postgres.stop();
    });
    const client = await server.client();
    const status = async (path: string) => (await server.fetch(path, { token: null })).status;
    await operator.query("begin; lock table jobs");
    const checks = Promise.all(Array.from({ length: 30 }, () => status("/readyz")));
    const answer = await server.fetch(`${routes.listJobs.path}?team_name=main`);
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "2"]);
    assert.match(await answer.text(), /Another session keeps a lock in the database.*Nothing was changed/);
    assert.deepEqual(new Set(await checks), new Set([503]));
    assert.equal(await status("/healthz"), 200);
    assert.equal((await client.call(routes.whoAmI, {})).username, "admin", "other tables are read");
    await operator.query("commit");
    assert.equal((await runJob(client, shell("true"))).job.status, "COMPLETE");
    assert.equal(await status("/readyz"), 200);
  });
});
