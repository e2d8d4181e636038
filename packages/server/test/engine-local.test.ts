import assert from "node:assert/strict";
import { type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { JobSpec } from "../src/engines/engine.ts";
import { isAlive } from "../src/engines/local/processes.ts";
import { engineConformance } from "./engine-conformance.ts";
import { localFixture } from "./support/local-engine.ts";

const job = (query: string): JobSpec => ({
  key: "job.1",
  jobId: "job",
  teamId: 1,
  name: null,
  query,
  queryType: "SHELL",
  environment: {},
  params: {},
  files: [],
  reset: false,
  pythonVersion: null,
  requirements: null,
  repository: null,
});

it("a supervisor whose folder was removed ends", async () => {
  const fixture = await localFixture("none");
  const engine = await fixture.open();
  await engine.submit(job("sleep 0.3"));
  const folder = fixture.folder("job.1");
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

it("a job that was started without isolation is found by a server that isolates", async () => {
  const fixture = await localFixture("none");
  const before = await fixture.open();
  await before.submit(job("trap '' TERM; while :; do sleep 0.1; done"));
  while (fixture.processes("job.1").length === 0) await sleep(5);
  await before.close();
  const after = await fixture.open({ isolation: "auto" });
  await after.cancel("job.1", true);
  for (const deadline = Date.now() + 10_000; fixture.folder("job.1").exit() === undefined; await sleep(10)) {
    assert.ok(Date.now() < deadline, "it goes on");
  }
  assert.deepEqual(await after.sweep(["job.1"]), []);
  assert.deepEqual(fixture.processes("job.1"), []);
  await after.close();
  await fixture.stop();
});

it("a job gets no descriptor that the server was started with", async () => {
  const script = `
    import { localFixture } from ${JSON.stringify(join(import.meta.dirname, "support/local-engine.ts"))};
    const fixture = await localFixture("none");
    const engine = await fixture.open();
    await engine.submit(JSON.parse(process.argv[1]));
    while (!fixture.folder("job.1").exit()) await new Promise((resolve) => setTimeout(resolve, 5));
    const log = await engine.openLog("job.1");
    process.stdout.write(await log.read(0, 10000));
    await engine.close();
    await fixture.stop();`;
  const words = ["--input-type=module", "-e", script, JSON.stringify(job("readlink /proc/self/fd/40"))];
  const leaked = openSync(import.meta.filename, "r");
  // Node closes the first few by itself.
  const stdio: StdioOptions = ["ignore", "pipe", "inherit", ...Array(37).fill("ignore"), leaked];
  const child = spawn(
    process.execPath,
    ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", ...words],
    {
      stdio,
    },
  );
  let output = "";
  child.stdout?.on("data", (bytes: Buffer) => {
    output += bytes.toString();
  });
  await once(child, "exit");
  closeSync(leaked);
  assert.equal(output, "/dev/null\n");
});
