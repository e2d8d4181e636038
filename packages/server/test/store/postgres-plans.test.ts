/** On PostgreSQL, too, a page of a list reads what it returns, and not what others have. */
import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import pg from "pg";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { listDatasets } from "../../src/store/queries/datasets/datasets.ts";

const many = 20_000;
/** Two teams with as many projects, one dataset in each; the first also has as many empty projects. */
const filling = `
  insert into teams (id, name, created_at) select n, 'team' || n, '' from generate_series(2, 3) n;
  insert into namespaces (id, team_id, uuid, name, created_at) select n, n, n, 'n', '' from generate_series(2, 3) n;
  insert into projects (id, namespace_id, uuid, name, created_at)
    select 10 + n, 2 + n % 2, n, 'p' || lpad(n::text, 6, '0'), '' from generate_series(1, ${2 * many}) n;
  insert into projects (id, namespace_id, uuid, name, created_at)
    select 1000000 + n, 2, n, 'empty' || n, '' from generate_series(1, 60) n;
  insert into datasets (id, team_id, project_id, uuid, name, attrs, created_at)
    select 10 + n, 2 + n % 2, 10 + n, n, 'd', '[]', '' from generate_series(1, ${2 * many}) n;
  analyze`;

interface Plan {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

/** Rows that the steps of a plan have read. */
const rowsOf = (plan: Plan): number =>
  (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"] +
  (plan.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0);

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

describe("on PostgreSQL, a page of datasets", () => {
  let postgres: TestPostgres;
  let admin: pg.Client;
  let url: string;
  before(async () => {
    postgres = await startPostgres();
    url = await postgres.createDatabase();
    await (await openStore(storeIn("", url))).close();
    admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query(filling);
  });
  after(async () => {
    await admin.end();
    await postgres.stop();
  });

  /** The statements of `work`, and the rows that they read when they run again. */
  async function rowsReadBy(t: TestContext, work: (store: Store) => Promise<void>): Promise<number> {
    const asked: Statement[] = [];
    const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
    const mocked = t.mock.method(pg.Client.prototype, "query", function (this: pg.Client, ...given: unknown[]) {
      const [first, values] = given;
      const text = typeof first === "string" ? first : (first as Statement).text;
      if (/^select/i.test(text) && text.includes("datasets"))
        asked.push({ text, values: ((first as Statement).values ?? values ?? []) as unknown[] });
      return Reflect.apply(query, this, given);
    });
    const store = await openStore(storeIn("", url));
    await work(store);
    await store.close();
    mocked.mock.restore();
    assert.ok(asked.length > 0);
    let rows = 0;
    for (const { text, values } of asked) {
      const found = await admin.query(`explain (analyze, format json) ${text}`, values);
      rows += rowsOf(found.rows[0]["QUERY PLAN"][0].Plan);
    }
    return rows;
  }

  for (const [what, limit, cursor] of [
    ["the first", 20, undefined],
    ["one in the middle", 20, 20_010],
  ] as const)
    it(`reads what it returns: ${what}`, async (t) => {
      const rows = await rowsReadBy(t, async ({ db }) => {
        assert.equal((await listDatasets(db, 2, cursor, limit)).length, limit);
      });
      assert.ok(rows < 1000, `${rows} rows`);
    });
});
