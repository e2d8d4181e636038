import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, StatementSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { eachPart } from "../../src/store/queries/batches.ts";
import { liveVersionsOf, renameRowsTables } from "../../src/store/queries/datasets/all-versions.ts";
import { findVersion, newestVersion, storedVersion } from "../../src/store/queries/datasets/dataset-versions.ts";
import { listDatasets } from "../../src/store/queries/datasets/datasets.ts";
import { stepsFrom } from "../../src/store/queries/datasets/lineage.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { putVersion } from "../support/datasets.ts";
import { storeConformance } from "./store-conformance.ts";

it("long writes let others run in between, and each keeps its result", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
  const store = await openStore(storeIn(dataDir));
  let turns = 0;
  let done = false;
  const others = (async () => {
    for (; !done; turns++) await new Promise(setImmediate);
  })();
  const busy = (result: number) => async () => {
    // Longer than one batch of writes may take.
    for (const until = performance.now() + 25; performance.now() < until; );
    return result;
  };
  const results = await Promise.all([...Array(10).keys()].map((index) => store.write(busy(index))));
  done = true;
  await others;
  assert.deepEqual(results, [...Array(10).keys()]);
  assert.ok(turns >= 10, `${turns} turns of the event loop`);
  await store.close();
  await rm(dataDir, { recursive: true });
});

it("the space reserved for a full disk is allocated again after compacting", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
  const store = await openStore(storeIn(dataDir));
  const room = async () => (await stat(`${storeIn(dataDir).file}-wal`)).size;
  await store.reserve();
  const reserved = await room();
  await store.compact();
  assert.ok(reserved >= 16_000_000 && (await room()) >= 16_000_000, `${reserved} bytes before, ${await room()} after`);
  await store.close();
  await rm(dataDir, { recursive: true });
});

describe("queries over long tables use an index and read only what they return: nothing is sorted", () => {
  /** Query plans of the ordered statements that this operation runs. */
  async function plansOf(t: TestContext, work: (store: Store) => Promise<unknown>): Promise<string[]> {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-store-"));
    const store = await openStore(storeIn(dataDir));
    const asked = new Set<string>();
    const all = StatementSync.prototype.all;
    t.mock.method(StatementSync.prototype, "all", function (this: StatementSync, ...values: SQLInputValue[]) {
      if (this.sourceSQL.includes("order by")) asked.add(this.sourceSQL);
      return Reflect.apply(all, this, values);
    });
    await store.write((db) => insertTeam(db, { name: "team", created_at: "" } as never));
    await putVersion(store, "some");
    await work(store);
    await store.close();
    const database = new DatabaseSync(storeIn(dataDir).file);
    const plans = [...asked].map((text) => {
      const values = [...text.matchAll(/\?/g)].map(() => 1);
      return JSON.stringify(database.prepare(`explain query plan ${text}`).all(...values));
    });
    database.close();
    await rm(dataDir, { recursive: true });
    return plans;
  }

  it("a page of datasets", async (t) => {
    const plans = await plansOf(t, async ({ db }) => {
      const [first] = await listDatasets(db, 1, undefined, 1);
      await listDatasets(db, 1, first?.id, 9);
    });
    assert.equal(plans.length, 3, "of namespaces, projects and datasets");
    for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/);
  });

  it("the newest live version, a version with rows, the live ones and those to rename", async (t) => {
    const plans = await plansOf(t, async (store) => {
      const one = await store.db.selectFrom("datasets").select("id").executeTakeFirstOrThrow();
      const template = await store.db.selectFrom("dataset_versions").selectAll().executeTakeFirstOrThrow();
      const { id: _, ...row } = { ...template, rows_table: "t" };
      const rows = Array.from({ length: 501 }, (_, patch) => ({ ...row, uuid: `${patch}`, minor: 1, patch }));
      await store.write((db) =>
        eachPart(rows, (part) => db.insertInto("dataset_versions").values(part).execute(), 100),
      );
      await findVersion(store.db, one.id, undefined);
      await newestVersion(store.db, one.id);
      await storedVersion(store.db, one.id);
      await liveVersionsOf(store.db, one.id);
      await store.write((db) => renameRowsTables(db, one.id, () => "u"));
    });
    assert.equal(plans.length, 7);
    assert.equal(
      plans.filter((plan) => plan.includes("(major,minor,patch)<")).length,
      2,
      "each batch begins in its place",
    );
    for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/);
  });

  it("steps of lineage, in both directions", async (t) => {
    const plans = await plansOf(t, async ({ db }) => {
      for (const direction of ["upstream", "downstream"] as const) await stepsFrom(db, [3, 1, 2], direction, 1);
    });
    assert.equal(plans.length, 2);
    for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/);
  });
});

storeConformance("SQLite", async () => {
  const root = await mkdtemp(join(tmpdir(), "millrace-store-"));
  return {
    async open(name) {
      const dataDir = join(root, name);
      await mkdir(dataDir, { recursive: true });
      return openStore(storeIn(dataDir));
    },
    stop: () => rm(root, { recursive: true }),
  };
});
