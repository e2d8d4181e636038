/** A server that is away for a while, answers that are lost, runners that die: nothing is lost and nothing runs twice. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Fault, type FaultProxy, startFaultProxy } from "@millrace/testing/servers/fault-proxy.ts";
import type { JobFile, Observation } from "../../../src/engines/engine.ts";
import type { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { attemptNamed, observeOne } from "../../support/attempts.ts";
import { until } from "../../support/until.ts";
import { markedProcesses } from "../remote/marked-processes.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

describe("a runner", () => {
  let ground: RunnerGround;
  let proxy: FaultProxy;
  let engine: RunnerEngine;
  /** What happens to the requests of runners. */
  let fault: (call: string, count: number) => Fault | undefined = () => undefined;
  const counts = new Map<string, number>();
  before(async () => {
    ground = await runnerGround();
    proxy = await startFaultProxy(Number(new URL(ground.server.url).port), ({ url }) => {
      const call = /runner\/(\w+)/.exec(url)?.[1] ?? "";
      counts.set(call, (counts.get(call) ?? 0) + 1);
      return fault(call, counts.get(call) ?? 0);
    });
    engine = await ground.open({ url: () => proxy.url });
  });
  after(async () => {
    await proxy.stop();
    await ground.stop();
  });

  const file = (name: string) => join(ground.folder, name);
  /** Waits in the job until the test has made a file. */
  const gate = (name: string) => `while [ ! -e ${file(name)} ]; do sleep 0.05; done`;
  const open = (name: string) => writeFileSync(file(name), "");
  /** Lines that differ, so that a repeated or missing piece is noticed. */
  const lines = (from: number, to: number) => `seq ${from} ${to}`;
  const numbers = (to: number) => `${[...Array(to).keys()].map((index) => index + 1).join("\n")}\n`;
  const begin = (faults: typeof fault) => {
    counts.clear();
    fault = faults;
  };
  const ranOnce = `echo run >> "$RUNS"`;
  const runsOf = (name: string) => readFileSync(file(name), "utf8");

  it("whose answers are all lost once repeats each call, and the log is the same, byte by byte", async () => {
    begin((_call, count) => (count % 2 === 1 ? { kind: "lose" } : undefined));
    const job = ground.spec(`${ranOnce}; ${lines(1, 300_000)}`, { environment: { RUNS: file("lost") } });
    await engine.submit(job);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 0);
    assert.equal(String(await ground.log(job.key)), numbers(300_000));
    assert.equal(runsOf("lost"), "run\n");
    await until(async () => !(await ground.placer.list()).has(job.key));
    assert.ok((counts.get("claim") ?? 0) >= 2 && (counts.get("end") ?? 0) >= 2, "each was repeated");
  });

  it("goes on while the server is away, and sends everything when it is back", async () => {
    begin(() => undefined);
    const script = [lines(1, 1000), gate("away"), lines(1001, 200_000), `touch ${file("done")}`, "exit 4"];
    const job = ground.spec(script.join("; "));
    await engine.submit(job);
    await until(async () => (await ground.log(job.key)).length === numbers(1000).length);
    begin(() => ({ kind: "refuse" }));
    open("away");
    await until(async () => existsSync(file("done")) && (counts.get("log") ?? 0) > 2);
    assert.equal((await observeOne(engine, job.key)).state, "RUNNING");
    assert.equal((await ground.log(job.key)).length, numbers(1000).length);
    begin(() => undefined);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 4);
    assert.equal(String(await ground.log(job.key)), numbers(200_000));
  });

  it("is told by 503 and 429 to come back later, and does", async () => {
    begin((_call, count) => (count < 3 ? { kind: "answer", status: count < 2 ? 503 : 429, code: "later" } : undefined));
    const job = ground.spec("echo patient");
    await engine.submit(job);
    await untilState(engine, job.key, "EXITED");
    assert.equal(String(await ground.log(job.key)), "patient\n");
  });

  it("believes only the server itself: what a proxy answers while a server restarts ends no job", async () => {
    const statuses = [404, 401, 403, 409, 410, 400];
    begin((call, count) => (count <= statuses.length && call !== "claim" ? answered(statuses[count - 1]) : undefined));
    const job = ground.spec(`${ranOnce}; exit 5`, { environment: { RUNS: file("proxied") } });
    await engine.submit(job);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 5);
    assert.equal(runsOf("proxied"), "run\n");
  });
  const answered = (status = 502): Fault => ({ kind: "answer", status, code: "page not found" });

  it("repeats each call whose answer breaks off in the middle", async () => {
    begin((_call, count) => (count === 1 ? { kind: "break", at: 0.5, how: "end" } : undefined));
    const job = ground.spec(`${ranOnce}; ${lines(1, 1000)}; exit 6`, { environment: { RUNS: file("broken") } });
    await engine.submit(job);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 6);
    assert.deepEqual([String(await ground.log(job.key)), runsOf("broken")], [numbers(1000), "run\n"]);
  });

  it("fetches a file again of which the server has sent a part, or nothing", async () => {
    const faults: (Fault | undefined)[] = [{ kind: "break", at: 0.5, how: "reset" }, answered(503), { kind: "refuse" }];
    begin((call, count) => (call === "file" ? faults[count - 1] : undefined));
    const text = numbers(100_000);
    const attached: JobFile = {
      name: "numbers",
      async *open() {
        yield Buffer.from(text);
      },
      placeAt: async (path) => writeFileSync(path, text),
    };
    const job = ground.spec("cat numbers", { files: [attached] });
    await engine.submit(job);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 0);
    assert.equal(String(await ground.log(job.key)), text);
  });

  it("sends a log in smaller pieces if a proxy accepts no larger ones", async () => {
    begin((call, count) => (call === "log" && count <= 3 ? answered(413) : undefined));
    const job = ground.spec(lines(1, 200_000));
    await engine.submit(job);
    await untilState(engine, job.key, "EXITED");
    assert.equal(String(await ground.log(job.key)), numbers(200_000));
  });

  for (const [what, metrics] of [
    ["NaN", `{"loss": NaN}`],
    ["Infinity", `{"loss": -Infinity}`],
    ["NUL", `{"a": "\\u0000"}`],
    ["too much nesting", `{"a": ${"[".repeat(150)}${"]".repeat(150)}}`],
    ["more nesting than the runner can write", `{"a": ${"[".repeat(600)}${"]".repeat(600)}}`],
    ["endless nesting", `{"a": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`],
  ] as const)
    it(`reports the end of a job whose metrics have ${what}, without them`, async () => {
      begin(() => undefined);
      const query = `${ranOnce}; cat > "$MILLRACE_METRICS_FILE" <<'END'\n${metrics}\nEND`;
      const job = ground.spec(query, { environment: { RUNS: file(what) } });
      await engine.submit(job);
      const end = await untilState(engine, job.key, "EXITED");
      assert.deepEqual([end.exit.code, end.metrics, runsOf(what)], [0, null, "run\n"]);
    });

  it("sends a log again of which the server has lost the end", async () => {
    begin((call) => (call === "end" ? { kind: "refuse" } : undefined));
    const job = ground.spec(lines(1, 50_000));
    await engine.submit(job);
    await until(async () => (counts.get("end") ?? 0) > 0);
    const { log } = ground.server.runners.folder(job.key);
    truncateSync(log, 1000);
    begin(() => undefined);
    await untilState(engine, job.key, "EXITED");
    assert.equal(String(await ground.log(job.key)), numbers(50_000));
  });

  it("whose attempt is over when it is heard again ends everything and leaves", async () => {
    begin(() => undefined);
    const job = ground.spec("echo up; sleep 1000");
    await engine.submit(job);
    await until(async () => (await ground.log(job.key)).length > 0);
    ground.server.runners.folder(job.key).writeJson("end", { code: 1, steps: [], overLimit: null, metrics: null });
    await until(async () => !(await ground.placer.list()).has(job.key));
    assert.deepEqual(markedProcesses(job.key, "MILLRACE_ATTEMPT").pids, []);
  });

  it("that its cluster ends with TERM asks its job to end, and reports how it ended", async () => {
    begin(() => undefined);
    const job = ground.spec("trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.05; done");
    await engine.submit(job);
    await until(async () => (await ground.log(job.key)).length > 0);
    await ground.placer.remove(job.key);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 9);
    assert.match(String(await ground.log(job.key)), /^up\n(.*\n)*bye\n$/);
  });

  it("that is killed is lost, with its reason, and without retries its job is not run again", async () => {
    begin(() => undefined);
    const job = ground.spec("echo up; sleep 1000");
    await engine.submit(job);
    await until(async () => (await ground.log(job.key)).length > 0);
    for (const pid of ground.placer.runners(job.key)) process.kill(pid, "SIGKILL");
    assert.match((await untilState(engine, job.key, "LOST")).why, /without a word/);
  });

  it("that is unheard for its lease ends its job, if another attempt may follow", async () => {
    begin(() => undefined);
    const leased = await ground.open({ url: () => proxy.url, leaseSeconds: 3 });
    const script = `echo up; ${gate("never")}`;
    const [retried, single] = [ground.spec(script, { isRetried: true }), ground.spec(script)];
    for (const job of [retried, single]) await leased.submit(job);
    for (const { key } of [retried, single]) await until(async () => (await ground.log(key)).length > 0);
    begin(() => ({ kind: "refuse" }));
    await until(async () => markedProcesses(retried.key, "MILLRACE_ATTEMPT").pids.length === 0);
    assert.ok(markedProcesses(single.key, "MILLRACE_ATTEMPT").pids.length > 0, "the other one goes on");
    begin(() => undefined);
    const { exit, overLimit } = await untilState(leased, retried.key, "EXITED");
    assert.equal(exit.code, 137);
    assert.match(overLimit ?? "", /could not reach the server for 3 seconds/);
    await leased.end(attemptNamed(single.key), "enough");
    assert.equal((await untilState(leased, single.key, "EXITED")).overLimit, "enough");
  });

  it("that may be followed by another counts as lost only after its lease", async () => {
    begin(() => undefined);
    const leased = await ground.open({ leaseSeconds: 1000 });
    const script = "echo up; sleep 1000";
    const [retried, single] = [ground.spec(script, { isRetried: true }), ground.spec(script)];
    // One after another, so that the first has been missing for longer when the second is lost.
    for (const { key, ...rest } of [retried, single]) {
      await leased.submit({ key, ...rest });
      await until(async () => (await ground.log(key)).length > 0);
      for (const pid of ground.placer.runners(key)) process.kill(pid, "SIGKILL");
      await until(async () => !(await ground.placer.list()).has(key));
    }
    const both = [retried, single].map(({ key }) => attemptNamed(key));
    let seen: ReadonlyMap<string, Observation> = new Map();
    await until(async () => {
      seen = await leased.observe(both);
      return seen.get(single.key)?.state === "LOST";
    });
    assert.equal(seen.get(retried.key)?.state, "RUNNING");
  });
});
