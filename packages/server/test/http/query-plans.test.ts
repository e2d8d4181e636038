/**
 * No request reads a growing table from end to end: on SQLite a statement holds up the whole server. The statements are those that run while every route is called. One whose plan does so nevertheless has
 * an entry here with the reason.
 */
import assert from "node:assert/strict";
import { DatabaseSync, type SQLInputValue, StatementSync } from "node:sqlite";
import { before, describe, it, mock } from "node:test";
import { type Route, routes } from "@millrace/contract";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { callRoute, type Fixture, makeFixture, runnerSecret, sourceFolder } from "../support/walk.ts";

/** Tables that are read whole, by the reason why they are short. */
const short: Readonly<Record<string, readonly string[]>> = {
  "only administrators add rows": ["clusters", "cluster_teams", "team_stores", "team_usage", "teams", "users"],
  "slots limit the rows": ["attempts"],
  "a few rows for each team": ["receivers", "failing"],
  "rows that the statement itself has": ["wanted", "fresh", "named", "waiting", "looked", "audit", "taken"],
};

/** Statements that read a whole table, by the reason why that is harmless. */
const allowed: Readonly<Record<string, readonly RegExp[]>> = {
  "the index has few rows": [
    /from "backfills" where "status"/,
    /from "pipelines" where status in/,
    /from "schedules" where "switching"/,
  ],
  "the quota of schedules limits the rows (max_schedules)": [
    /^select "schedules"."id"/,
    /"schedule_notices" set/,
    /^delete from "pipelines" where "id"/,
  ],
  "the quota of queued jobs limits the rows (max_queued)": [/from "queue" (cross join|where \("not_before")/],
  "rows expire, and are removed each minute": [/^delete from "(sessions|sign_in_links|device_logins|browsers)"/],
  "open invitations are limited, and others are removed after some time": [/^delete from "invitations"/],
};

describe("the plans of the statements that requests run", () => {
  const plans = new Map<string, readonly string[]>();

  before(async () => {
    const server = await startInProcess({ MILLRACE_JOB_PATHS: sourceFolder, MILLRACE_SMTP_URL: "smtp://127.0.0.1:9" });
    const fixture = await makeFixture(server);
    const asked = await statementsOf(() => callAll(server, fixture));
    const database = new DatabaseSync(storeIn(server.dataDir).file, { readOnly: true });
    database.function("lower_case", String);
    for (const [text, values] of asked) plans.set(text, planOf(database, text, values));
    database.close();
    await server.dispose();
  });

  it("of all routes are known", () => assert.ok(plans.size > 200, `${plans.size} statements`));

  it("of a pause look at the pipelines of a schedule that have not ended, not at all that it has started", () => {
    const [plan] = [...plans].filter(([text]) => /from "pipelines" where "schedule_id" = .* "status" = /.test(text));
    assert.match(plan?.[1].join() ?? "", /pipelines_by_schedule_status \(schedule_id=\? AND status=\? AND id>\?\)/);
  });

  it("read no growing table from end to end", () => {
    const reasons = Object.values(allowed).flat();
    const found = [...plans].flatMap(([text, plan]) => {
      const bad = plan.filter(isLong);
      return bad.length === 0 || reasons.some((reason) => reason.test(text)) ? [] : [`${bad.join(", ")}: ${text}`];
    });
    assert.deepEqual(found, [], "add an index, or an entry with the reason");
  });
});

/** Whether this part of a plan reads a whole table, or an index of it. */
function isLong(part: string): boolean {
  const table = /^SCAN (\w+)/.exec(part)?.[1];
  return table !== undefined && !/^\d+$|CONSTANT/.test(table) && !Object.values(short).flat().includes(table);
}

/** The statements that ran during `work`, each with values that it had: an index of some rows depends on them. */
async function statementsOf(work: () => Promise<void>): Promise<ReadonlyMap<string, readonly SQLInputValue[]>> {
  const asked = new Map<string, readonly SQLInputValue[]>();
  const mocks = (["all", "run", "iterate"] as const).map((name) => {
    const original = StatementSync.prototype[name];
    return mock.method(StatementSync.prototype, name, function (this: StatementSync, ...values: SQLInputValue[]) {
      asked.set(this.sourceSQL, values);
      return Reflect.apply(original, this, values);
    });
  });
  await work();
  for (const { mock } of mocks) mock.restore();
  return asked;
}

function planOf(database: DatabaseSync, text: string, values: readonly SQLInputValue[]): string[] {
  // A new row is compared with rows that refer to it only if some refer to nothing, but the plan has it in any case.
  if (/^insert into "(users|teams|tokens|clusters)"/.test(text)) return [];
  const rows = database.prepare(`explain query plan ${text}`).all(...values);
  return rows.map(({ detail }) => String(detail));
}

/** Calls every route about real objects: those that change something come last. */
async function callAll(server: InProcessServer, { known, admin }: Fixture): Promise<void> {
  const all = (Object.values(routes) as Route[]).filter(({ access }) => access.kind !== "public");
  const reads = all.filter(({ method }) => method === "GET");
  for (const route of [...reads, ...all.filter(({ method }) => method !== "GET")]) {
    const owner = { user: route.access.kind === "admin" ? "admin" : admin.username };
    const key = String(known["key"]);
    const token = route.access.kind === "runner" ? await runnerSecret(server, route, key) : await server.token(owner);
    await (await callRoute(server, route, token, known)).arrayBuffer();
  }
}
