/** Retention of warehouses that were replaced by a copy. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { pino } from "pino";
import { prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import { removeReplacedWarehouses } from "../../src/loops/replaced-warehouses.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { touchWarehouse } from "../../src/store/queries/datasets/warehouses.ts";
import { Warehouses } from "../../src/warehouses/warehouses.ts";

it("a replaced warehouse is deleted after its days; 0 days keep it forever", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-replaced-"));
  const store = await openStore(storeIn(dataDir));
  t.after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const now = Date.now();
  await prepareStore(store, now);
  await store.write((db) => touchWarehouse(db, 1, iso(now)));
  const warehouses = new Warehouses(new DataFolder(dataDir).warehouses, unconfined);
  const [fresh, old] = [iso(now - 6 * day), iso(now - 8 * day)];
  for (const moment of [fresh, old]) await mkdir(join(dataDir, "team-stores/1/replaced", moment), { recursive: true });
  const clock = { now: () => now, monotonic: () => performance.now() };
  const context = { store, clock, log: pino({ level: "silent" }), warehouses };
  await removeReplacedWarehouses({ ...context, warehouseReplacedDays: 0 });
  assert.deepEqual(await warehouses.replaced(1), [fresh, old]);
  await removeReplacedWarehouses({ ...context, warehouseReplacedDays: 7 });
  assert.deepEqual(await warehouses.replaced(1), [fresh]);
});
