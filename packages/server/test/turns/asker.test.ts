/** On whose behalf work runs that a request begins and that outlives it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import pino from "pino";
import { JobStates } from "../../src/http/jobs/job-states.ts";
import { startLoop } from "../../src/loops/loop.ts";
import { askedBy, currentAsker } from "../../src/turns/asker.ts";
import { Signal } from "../../src/turns/signals.ts";
import { Changes } from "../../src/warehouses/changes.ts";

const asker = (caller: string) => ({ caller, hasGone: () => true });
const callerNow = () => currentAsker()?.caller;

it("a loop that a request starts is the server's own work", async () => {
  const seen: unknown[] = [];
  const ran = Promise.withResolvers<void>();
  const loop = {
    name: "test",
    signal: new Signal(),
    interval: 1,
    async runOnce() {
      seen.push(callerNow());
      if (seen.length === 2) ran.resolve();
    },
  };
  const stop = await askedBy(asker("administrator"), async () => startLoop(loop, pino({ level: "silent" })));
  await ran.promise;
  await stop();
  assert.deepEqual(seen.slice(0, 2), [undefined, undefined]);
});

it("states of jobs that followers share are read as the server's own work", async () => {
  const seen: unknown[] = [];
  const states = new JobStates(async () => {
    seen.push(callerNow());
    return new Map();
  });
  await askedBy(asker("first"), () => states.of("a job"));
  assert.deepEqual(seen, [undefined]);
});

it("queued changes of a team each run on behalf of their own caller", async () => {
  const changes = new Changes();
  const first = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const asked = ["first", "second"].map((name) =>
    askedBy(asker(name), () =>
      changes.inTurn(1, async () => {
        await first.promise;
        seen.push(callerNow());
      }),
    ),
  );
  first.resolve();
  await Promise.all(asked);
  assert.deepEqual(seen, ["first", "second"]);
});
