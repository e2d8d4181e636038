/** Changes of teams' warehouses: concurrent requests of a team share one process. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { unconfined } from "@millrace/testing/millrace/unconfined.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { askedBy } from "../../src/turns/asker.ts";
import { Changes } from "../../src/warehouses/changes.ts";
import { WarehouseBusy, Warehouses } from "../../src/warehouses/warehouses.ts";

/** A change that ends when the test says so. */
function change() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const work = { begun: false, end: resolve, fail: reject };
  const run = () => {
    work.begun = true;
    return promise;
  };
  return Object.assign(work, { run });
}

it("rows are not read for a caller who has gone while the request was queued", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-rows-"));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  let processes = 0;
  const confine = () => {
    processes++;
    return ["/bin/sh", "-c", "sleep 0.2; exit 1"];
  };
  const warehouses = new Warehouses(new DataFolder(dataDir).warehouses, { ...unconfined, confine });
  await mkdir(join(dataDir, "team-stores/1/data"), { recursive: true });
  const page = { table: "t", columns: [], after: undefined, limit: 1, text: 1, bytes: 1 };
  const callers = [1, 2, 3].map((caller) => ({ caller, isGone: false }));
  const asked = callers.map((one) =>
    askedBy({ caller: one.caller, hasGone: () => one.isGone }, () => warehouses.readRows(1, page)),
  );
  for (const one of callers.slice(0, 2)) one.isGone = true;
  const messages = (await Promise.allSettled(asked)).map((one) => String((one as PromiseRejectedResult).reason));
  assert.match(messages[1] ?? "", /closed the connection/);
  assert.match(messages[2] ?? "", /child process/);
  assert.equal(processes, 2);
});

describe("changes of a team's warehouse", () => {
  it("run one after another; changes of another team do not wait for them", async () => {
    const changes = new Changes();
    const [first, second, other] = [change(), change(), change()];
    const asked = [changes.inTurn(1, first.run), changes.inTurn(1, second.run), changes.inTurn(2, other.run)];
    assert.deepEqual([first.begun, second.begun, other.begun], [true, false, true]);
    first.fail(new Error("it cannot be changed"));
    await assert.rejects(asked[0] ?? Promise.resolve(), /cannot be changed/);
    await setImmediate();
    assert.equal(second.begun, true, "one that fails keeps nobody from trying");
    second.end();
    other.end();
    await Promise.all(asked.slice(1));
    const next = change();
    const later = changes.inTurn(1, next.run);
    assert.equal(next.begun, true, "a line that is empty is forgotten");
    next.end();
    await later;
  });

  it("fail with the change before them if something keeps the warehouse locked", async () => {
    const changes = new Changes();
    const [first, second] = [change(), change()];
    const asked = [changes.inTurn(1, first.run), changes.inTurn(1, second.run)];
    first.fail(new WarehouseBusy("somebody has it"));
    for (const each of asked) await assert.rejects(each, WarehouseBusy);
    assert.equal(second.begun, false);
  });

  it("queue up to a limit; further ones are refused at once", async () => {
    const changes = new Changes();
    const first = change();
    const asked = [
      changes.inTurn(1, first.run),
      ...Array.from({ length: 100 }, () => changes.inTurn(1, async () => {})),
    ];
    await assert.rejects(changes.inTurn(1, change().run), /100 changes of the team's datasets are already queued/);
    first.end();
    await Promise.all(asked);
  });
});
