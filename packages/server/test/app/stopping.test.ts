/** Stopping: a request that waits for something that never answers does not keep the other parts from stopping. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { admission } from "../../src/app/http-server.ts";
import { Readiness } from "../../src/app/readiness.ts";

it("after five seconds the other parts stop, even if a request is still open", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const readiness = new Readiness();
  const part = admission(readiness, { address: "", close: () => new Promise(() => {}) });
  await part.start();
  const stopping = part.stop();
  assert.equal(readiness.stopping.aborted, true);
  t.mock.timers.tick(5000);
  await stopping;
});
