import assert from "node:assert/strict";
import { execFileSync, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { JobUsers } from "../../src/engines/local/isolation/users.ts";
import { byFolder, byUser, isAlive, ProcessSearch } from "../../src/engines/local/processes/processes.ts";
import { attemptNamed, observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";
import { localFixture, whyNot } from "../support/local-engine.ts";
import { engineConformance } from "./engine-conformance.ts";

const job = (query: string) => jobSpec({ jobId: "job", query });

it("a supervisor exits if its folder was removed", async () => {
  const fixture = await localFixture("none");
  const engine = await fixture.open();
  await engine.submit(job("sleep 0.3"));
  const folder = fixture.folder("job.1");
  while (folder.claim() === "none") await sleep(5);
  const supervisor = folder.supervisor();
  await rm(fixture.dataDir, { recursive: true, force: true, maxRetries: 5 });
  for (const deadline = Date.now() + 120_000; supervisor && isAlive(supervisor); await sleep(20)) {
    assert.ok(Date.now() < deadline, "it is still there");
  }
  await engine.close();
});

engineConformance("local, isolation none", () => localFixture("none"));
engineConformance("local, isolation uid", () => localFixture("uid"), await whyNot("uid"));
engineConformance("local, isolation bwrap", () => localFixture("bwrap"), await whyNot("bwrap"));

it("at uid, processes that kill whoever comes to kill them are ended, beside those of other attempts", async (t) => {
  const skip = await whyNot("uid");
  if (skip) return t.skip(skip);
  const fixture = await localFixture("uid");
  const engine = await fixture.open();
  const killer = `import os
if os.fork(): os._exit(0)
os.setsid()
open("begun", "w")
while True:
    try: os.kill(-1, 9)
    except OSError: pass
`;
  const keys = [];
  for (const query of [killer, "open('begun', 'w')", killer]) {
    const one = jobSpec({ jobId: `job-${keys.length}`, queryType: "PYTHON", query });
    await engine.submit(one);
    for (const deadline = Date.now() + 60_000; (await observeOne(engine, one.key)).state !== "EXITED"; await sleep(5))
      assert.ok(Date.now() < deadline);
    while (!existsSync(fixture.folder(one.key).file("work/begun"))) await sleep(5);
    keys.push(one.key);
  }
  const owners = new Set(keys.map((key) => fixture.folder(key).owner()));
  assert.deepEqual(await engine.sweep(keys), []);
  assert.deepEqual((await new ProcessSearch().all(byUser(owners))).pids, []);
  for (const key of keys) await engine.cleanup(key);
  await engine.close();
  await fixture.stop();
});

it("a job from an earlier boot is lost, unless it had ended", async () => {
  const fixture = await localFixture("none");
  const engine = await fixture.open();
  await engine.submit(job("exit 4"));
  while ((await observeOne(engine, "job.1")).state !== "EXITED") await sleep(5);
  assert.equal((await observeOne(engine, "job.1", "another boot")).state, "EXITED");
  assert.equal((await observeOne(engine, "never-begun.1", "another boot")).state, "LOST");
  await engine.close();
  await fixture.stop();
});

it("a start that another server submitted and that no supervisor claimed is withdrawn", async () => {
  const fixture = await localFixture("none");
  const before = await fixture.open({ claimDelay: "3" });
  await before.submit(job("echo ran"));
  assert.equal((await observeOne(before, "job.1")).state, "SUBMITTED");
  const after = await fixture.open();
  assert.equal((await observeOne(after, "job.1")).state, "ABSENT");
  assert.equal(await after.withdraw(attemptNamed("job.1")), true);
  const supervisor = () => fixture.folder("job.1").supervisor();
  for (let late = supervisor(); !late || isAlive(late); late = supervisor()) await sleep(20);
  assert.equal((await observeOne(after, "job.1")).state, "ABSENT", "it came late, and did nothing");
  await before.close();
  await after.close();
  await fixture.stop();
});

it("a job that was started without isolation is found by a server that isolates", async () => {
  const fixture = await localFixture("none");
  const before = await fixture.open();
  await before.submit(job("trap '' TERM; while :; do sleep 0.1; done"));
  while (fixture.processes("job.1").length === 0) await sleep(5);
  await before.close();
  const after = await fixture.open({ isolation: "auto" });
  await after.cancel(attemptNamed("job.1"), true);
  for (const deadline = Date.now() + 120_000; fixture.folder("job.1").exit() === undefined; await sleep(10)) {
    assert.ok(Date.now() < deadline, "it goes on");
  }
  assert.deepEqual(await after.sweep(["job.1"]), []);
  assert.deepEqual(fixture.processes("job.1"), []);
  await after.close();
  await fixture.stop();
});

it("a job inherits no file descriptor that the server was started with", async () => {
  const script = `
    import { localFixture, whyNot } from ${JSON.stringify(join(import.meta.dirname, "../support/local-engine.ts"))};
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
  // Node closes the first few descriptors itself.
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

describe("users of jobs", () => {
  const range = { first: 58_000, last: 58_003 };
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-users-"));
    for (const name of ["one", "two"]) await mkdir(join(folder, name));
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const open = (name: string, inUse: [number, string][] = []) =>
    new JobUsers({
      range,
      root: join(folder, name),
      inUse: new Map(inUse),
      registry: join(folder, "registry.db"),
    });

  it("belong to one attempt at a time, which alone returns them; the last id is never assigned", async () => {
    const users = open("one");
    const taken = await Promise.all(["a", "b", "c"].map((key) => users.take(key)));
    assert.deepEqual(taken, [58_000, 58_001, 58_002]);
    await assert.rejects(users.take("d"), /All user ids from 58000 to 58003 \(MILLRACE_JOB_UIDS\) are taken/);
    users.give(58_001, "somebody else");
    await assert.rejects(users.take("d"), /are taken/);
    users.give(58_001, "b");
    users.give(58_001, "b");
    assert.equal(await users.take("d"), 58_001);
    await assert.rejects(users.take("e"), /are taken/);
    users.close();
  });

  it("that folders of an earlier server need are not assigned again, even if the registry was lost", async () => {
    await rm(join(folder, "registry.db"), { force: true });
    const users = open("one", [[58_000, "old"]]);
    assert.deepEqual([await users.take("a"), await users.take("b")], [58_001, 58_002]);
    users.give(58_000, "old");
    assert.equal(await users.take("c"), 58_000);
    users.close();
  });

  it("of a living server are not assigned to another", async () => {
    await rm(join(folder, "registry.db"), { force: true });
    const [one, two] = [open("one"), open("two")];
    const taken = [await one.take("a"), await one.take("b"), await one.take("c")];
    await assert.rejects(two.take("x"), /are taken/);
    assert.equal(new Set(taken).size, 3);
    one.close();
    two.close();
  });
});

it("a cancellation does not reach a namespace that reuses the number of an ended one", {
  skip: await whyNot("bwrap"),
}, async () => {
  const fixture = await localFixture("bwrap");
  const engine = await fixture.open();
  await engine.submit({ ...job("while [ -e query.sh ]; do sleep 0.05; done"), key: "other.1" });
  while (fixture.folder("other.1").sandbox() === undefined) await sleep(5);
  const { namespace } = fixture.folder("other.1").sandbox() ?? { namespace: "" };
  // The state of an attempt between two phases: its last sandbox has ended, and another one has its number now.
  const waiting = fixture.folder("waiting.1");
  waiting.make();
  waiting.write("sandbox", `{ "child-pid": 4194303, "pid-namespace": ${namespace} }`);
  await engine.cancel(attemptNamed("waiting.1"), false);
  await sleep(200);
  assert.equal((await observeOne(engine, "other.1")).state, "RUNNING");
  await engine.cancel(attemptNamed("other.1"), true);
  while (fixture.folder("other.1").exit() === undefined) await sleep(5);
  await engine.close();
  await fixture.stop();
});

for (const processes of [0, 100])
  it(`a sandbox that could not start on a full disk is killed, ${processes ? "in a control group" : "without one"}`, {
    skip: (process.getuid?.() !== 0 && "needs root") || (await whyNot("bwrap")),
  }, async (t) => {
    const fixture = await localFixture("bwrap");
    const full = join(fixture.dataDir, "full");
    mkdirSync(full);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "tmpfs", full]);
    t.after(() => {
      execFileSync("umount", ["-l", full]);
      return fixture.stop();
    });
    writeFileSync(join(full, "all"), Buffer.alloc(4096));
    const limits = { seconds: 0, memory: 0, processes, openFiles: 0, log: 0, disk: 0 };
    const engine = await fixture.open({ claimDelay: "0.5", limits });
    t.after(() => engine.close());
    await engine.submit(job("true"));
    const folder = fixture.folder("job.1");
    symlinkSync(join(full, "sandbox"), folder.file("sandbox"));
    while (folder.exit() === undefined) await sleep(10);
    assert.notEqual(folder.exit()?.code, 0);
    assert.deepEqual(await engine.sweep(["job.1"]), []);
    const { pids: left } = await new ProcessSearch().all(byFolder([folder.path]));
    assert.deepEqual(left, []);
    await engine.cleanup("job.1");
  });

it("the age of a job that started while the clock was behind is right, also for the next server", async () => {
  const fixture = await localFixture("none");
  const limits = { seconds: 60, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 0 };
  const engine = await fixture.open({ limits });
  await engine.submit(job("while [ ! -e go ]; do sleep 0.02; done"));
  const folder = fixture.folder("job.1");
  while (folder.begunAt() === undefined) await sleep(10);
  await engine.close();
  await utimes(folder.file("claim"), new Date("2020-01-01"), new Date("2020-01-01"));
  const next = await fixture.open({ limits });
  await next.watch("job.1", 0);
  assert.equal(folder.limit(), "");
  const strict = await fixture.open({ limits: { ...limits, seconds: 0.5 } });
  await sleep(1000);
  await strict.watch("job.1", 0);
  assert.match(folder.limit(), /exceeded its limit of 0\.5 seconds/);
  while (folder.exit() === undefined) await sleep(10);
  await next.close();
  await strict.close();
  await fixture.stop();
});

it("reading beyond the end of a log does not change the log", async () => {
  const fixture = await localFixture("none");
  const engine = await fixture.open();
  await engine.submit(job("echo shown; while [ ! -e go ]; do sleep 0.02; done"));
  const log = await engine.openLog("job.1");
  while ((await log.size()) < 6) await sleep(10);
  // A log is checked only when it is at least half a second old.
  await sleep(600);
  await engine.watch("job.1", 0);
  assert.equal((await log.read(99_000_000_000, 100)).length, 0);
  await engine.watch("job.1", 0);
  await writeFile(join(fixture.folder("job.1").work, "go"), "");
  while (fixture.folder("job.1").exit() === undefined) await sleep(10);
  await observeOne(engine, "job.1");
  assert.equal((await log.read(0, 100)).toString(), "shown\n");
  assert.equal(await log.size(), 6);
  await log.close();
  await engine.close();
  await fixture.stop();
});

describe("a job that truncates its own log", () => {
  for (const [what, act] of Object.entries({
    "to nothing": "os.ftruncate(1, 0)",
    "and writes it anew, longer than before": "os.ftruncate(1, 0); os.write(1, b'y' * 5000)",
  })) {
    it(`${what} does not remove what was shown: the log reports the truncation and keeps its length`, async () => {
      const fixture = await localFixture("none");
      const engine = await fixture.open();
      const script = `python3 -c "import os, time
os.write(1, b'shown' * 500)
while not os.path.exists('go'): time.sleep(0.02)
${act}
time.sleep(0.1)"`;
      await engine.submit(job(script));
      const log = await engine.openLog("job.1");
      while ((await log.size()) < 2500) await sleep(10);
      // A log is checked only when it is at least half a second old.
      await sleep(600);
      await engine.watch("job.1", 0);
      assert.equal((await log.read(0, 4000)).length, 2500);
      await writeFile(join(fixture.folder("job.1").work, "go"), "");
      while (fixture.folder("job.1").exit() === undefined) await sleep(10);
      await observeOne(engine, "job.1");
      const text = (await log.read(0, 100_000)).toString();
      assert.ok(text.length >= 2500, `${text.length} bytes`);
      assert.match(
        text,
        /The job changed its own log: some of the first 2500 bytes, which were already shown, are gone\./,
      );
      assert.equal(await log.size(), text.length);
      await observeOne(engine, "job.1");
      assert.equal(await log.size(), text.length, "said once");
      await log.close();
      await engine.close();
      await fixture.stop();
    });
  }
});
