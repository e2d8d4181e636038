/** Datasets with thousands of versions: part of the suite that runs on SQLite and on PostgreSQL. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { versionStatus } from "@millrace/contract";
import { rowsTable } from "../../src/datachain/rows-table.ts";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import {
  applyEdit,
  applyRemoval,
  getLiveVersion,
  listJobVersions,
  planEdit,
  planRemoval,
} from "../../src/domain/datasets/datasets.ts";
import { registerVersion } from "../../src/domain/datasets/register-version.ts";
import type { Db, Store } from "../../src/store/drivers/store.ts";
import { eachPart } from "../../src/store/queries/batches.ts";
import { countReads, countStore } from "../support/counted-reads.ts";
import { putVersion } from "../support/datasets.ts";
import { noQuotas } from "../support/quotas.ts";

const now = Date.UTC(2030, 0, 1);
const team: Team = { id: 1, name: "main", role: "admin" };
const via = { kind: "session", hash: "" } as const;
const principal: Principal = { userId: 1, username: "admin", isAdmin: true, via, scopes: [], teams: [team] };

/** Number of additional versions: six batches. */
const many = 3000;

export function versionConformance(storeOf: () => Store, newJob: () => Promise<string>): void {
  const place = (name: string) => ({ namespace: "@admin", project: "default", name, version: undefined });
  const edit = (db: Db) => ({ db, actor: operator, now });

  /** Makes a dataset with version 1.0.0 and many more, each with rows in the warehouse if `isStored`. */
  async function make(name: string, isStored: boolean): Promise<void> {
    const store = storeOf();
    const uuid = await putVersion(store, name, { rows_table: isStored ? "first" : null });
    const first = await store.db.selectFrom("dataset_versions").selectAll().where("uuid", "=", uuid).execute();
    const { id: _, ...row } = first[0] ?? assert.fail();
    const rows = Array.from({ length: many }, (_, patch) => ({
      ...row,
      ...{ uuid: randomUUID(), major: 1, minor: 1, patch, version: `1.1.${patch}` },
      rows_table: isStored ? `table-${patch}` : null,
    }));
    await store.write((db) => eachPart(rows, (part) => db.insertInto("dataset_versions").values(part).execute(), 100));
  }

  const remove = (name: string) =>
    storeOf().write(async (db) => applyRemoval(edit(db), team, await planRemoval(db, team, place(name), true)));

  /** How often other work ran while this work did. */
  async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns++) await new Promise(setImmediate);
    })();
    await work().finally(() => {
      isDone = true;
    });
    await others;
    return turns;
  }

  it("an edit of a dataset with thousands of versions reads one of them: the newest live one with rows", async () => {
    await make("edited", true);
    const { db } = storeOf();
    const counted = countReads(db);
    const { stored } = await planEdit(counted.db, team, place("edited"), { description: "new" });
    assert.ok(counted.bytes() < 1000, `${counted.bytes()} bytes`);
    const newest = await getLiveVersion(db, team, place("edited"));
    assert.deepEqual([stored, newest.version], [newest.uuid, `1.1.${many - 1}`]);
    await storeOf().write(async (tx) => {
      const version = { major: 1, minor: 1, patch: many - 1 };
      await applyRemoval(edit(tx), team, await planRemoval(tx, team, { ...place("edited"), version }, false));
    });
    const next = await getLiveVersion(db, team, place("edited"));
    assert.equal((await planEdit(db, team, place("edited"), {})).stored, next.uuid, "a live one");
    await remove("edited");
    assert.equal((await planEdit(db, team, place("edited"), {})).stored, newest.uuid, "the newest, if all are removed");
  });

  it("a rename changes thousands of versions in batches of one statement, and yields to others in between", async () => {
    await make("before", true);
    await storeOf().write(async (db) => {
      const version = { major: 1, minor: 1, patch: 7 };
      await applyRemoval(edit(db), team, await planRemoval(db, team, { ...place("before"), version }, false));
    });
    const plan = await planEdit(storeOf().db, team, place("before"), { new_name: "after" });
    const counted = countStore(storeOf());
    const turns = await turnsDuring(() =>
      counted.store.write((db) => applyEdit(edit(db), team, plan, ({ name, version }) => `${name} ${version}`)),
    );
    assert.ok(counted.statements() <= 25, `${counted.statements()} statements`);
    assert.ok(turns >= many / 500, `${turns} turns of the event loop`);
    const rows = await storeOf()
      .db.selectFrom("dataset_versions")
      .select(["version", "rows_table"])
      .where("dataset_id", "=", plan.dataset.id)
      .execute();
    assert.equal(rows.length, many + 1);
    for (const { version, rows_table } of rows) assert.equal(rows_table, `after ${version}`);
  });

  it("a rename leaves versions without rows as they are", async () => {
    await putVersion(storeOf(), "mixed");
    await putVersion(storeOf(), "mixed", { version: "2.0.0", rows_table: "t" });
    const plan = await planEdit(storeOf().db, team, place("mixed"), { new_name: "blend" });
    await storeOf().write((db) => applyEdit(edit(db), team, plan, rowsTable));
    const rows = await storeOf()
      .db.selectFrom("dataset_versions")
      .select("rows_table")
      .where("dataset_id", "=", plan.dataset.id)
      .orderBy("major")
      .execute();
    assert.deepEqual(
      rows.map(({ rows_table }) => rows_table),
      [null, "ds_@admin_default_blend_2_0_0"],
    );
  });

  it("registering beside thousands of versions reads few of them, also if they were removed", async () => {
    await make("registered", false);
    const register = (store: Store, name: string) =>
      registerVersion(store, { team, principal, actor: operator, input: { name }, text: "{}" }, noQuotas, now);
    const counted = countStore(storeOf());
    assert.equal((await register(counted.store, "registered")).version, `1.1.${many}`);
    assert.ok(counted.bytes() < 5000, `${counted.bytes()} bytes`);
    await remove("registered");
    const again = countStore(storeOf());
    assert.equal((await register(again.store, "registered")).version, `1.1.${many + 1}`);
    assert.ok(again.bytes() < 5000, `${again.bytes()} bytes`);
    await assert.rejects(register(storeOf(), "registered@1.1.5"), {
      message: /registered@1\.1\.5 was removed, and its number stays taken/,
    });
  });

  it("the removal of thousands of versions reads only what it needs of each, and yields to others in between", async () => {
    await make("removed", true);
    const counted = countReads(storeOf().db);
    const removal = await planRemoval(counted.db, team, place("removed"), true);
    assert.deepEqual(
      [removal.versions.length, removal.versions[0]?.version, removal.versions.at(-1)?.version],
      [many + 1, "1.0.0", `1.1.${many - 1}`],
    );
    assert.ok(counted.bytes() < (many + 1) * 120, `${counted.bytes()} bytes`);
    const turns = await turnsDuring(() => storeOf().write((db) => applyRemoval(edit(db), team, removal)));
    // Two series of batches: versions and their exports.
    assert.ok(turns >= (2 * many) / 500, `${turns} turns of the event loop`);
    const left = await storeOf()
      .db.selectFrom("dataset_versions")
      .select("id")
      .where("rows_table", "like", "table-%")
      .where("status", "=", versionStatus.complete)
      .execute();
    assert.deepEqual(left, []);
  });

  it("a job has at most 2,000 versions: more are not registered, and the list of more reads the first 4,000", async () => {
    await make("of-a-job", false);
    const store = storeOf();
    const jobId = await newJob();
    const ids = (await planRemoval(store.db, team, place("of-a-job"), true)).versions.map(({ id }) => id);
    const link = (some: readonly number[]) =>
      store.write((db) =>
        eachPart(some, (part) =>
          db
            .insertInto("dataset_version_jobs")
            .values(part.map((version_id) => ({ job_id: jobId, version_id, is_creator: 1 })))
            .execute(),
        ),
      );
    const register = () => {
      const input = { name: "one-more", job_id: jobId };
      return registerVersion(store, { team, principal, actor: operator, input, text: "{}" }, noQuotas, now);
    };
    await link(ids.slice(0, 1999));
    await register();
    await assert.rejects(register(), {
      code: "wrong_state",
      message: /^job_id: the job .* already has 2000 versions of datasets, which is the limit for one job\./,
    });
    await link(ids.slice(1999));
    await make("of-a-job-too", false);
    await link((await planRemoval(store.db, team, place("of-a-job-too"), true)).versions.map(({ id }) => id));
    const counted = countReads(store.db);
    const { dataset_versions } = JSON.parse(await listJobVersions(counted.db, team, jobId));
    assert.deepEqual(
      [dataset_versions.length, dataset_versions[0]],
      [4000, { dataset_name: "@admin.default.of-a-job", version: "1.0.0" }],
    );
    assert.equal(counted.statements(), 8, "batches of 500");
  });
}
