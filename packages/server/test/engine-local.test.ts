import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "../src/engines/local/processes.ts";
import { engineConformance } from "./engine-conformance.ts";
import { localFixture } from "./support/local-engine.ts";

it("a supervisor whose folder was removed ends", async () => {
  const fixture = await localFixture("none");
  const engine = await fixture.open();
  const spec = {
    teamId: 1,
    name: null,
    queryType: "SHELL",
    environment: {},
    params: {},
    files: [],
    reset: false,
  } as const;
  const rest = { pythonVersion: null, requirements: null, repository: null };
  await engine.submit({ ...spec, ...rest, key: "gone.1", jobId: "gone", query: "sleep 0.3" });
  const folder = fixture.folder("gone.1");
  while (folder.claim() === "none") await sleep(5);
  const supervisor = folder.supervisor();
  await rm(fixture.dataDir, { recursive: true, force: true, maxRetries: 5 });
  for (const deadline = Date.now() + 10_000; supervisor && isAlive(supervisor); await sleep(20)) {
    assert.ok(Date.now() < deadline, "it is still there");
  }
  await engine.close();
});

engineConformance("local, isolation none", () => localFixture("none"));
engineConformance("local, isolation uid", () => localFixture("uid"));
engineConformance("local, isolation bwrap", () => localFixture("bwrap"));
