/** The runner protocol, call by call, as a runner would make them against a real server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { RunnerFolder } from "../../../src/engines/runners/runner-folder.ts";
import { readRunner } from "../../../src/engines/runners/runner-text.ts";
import { attemptNamed, observeOne } from "../../support/attempts.ts";
import { until } from "../../support/until.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

/** The most connections of one address without a valid secret. */
const strangers = 12;

const runner = (instance: string) => ({ instance, host: "node", python: "3.11.2" });
const beat = { steps: [], age: 1, orders: { cancel: false, force: false }, usage: null };
const end = {
  ...{ exit_code: 0, phase: "query", finished_at: 1000, log_size: 0 },
  ...{ steps: [], usage: null, over_limit: null, metrics: null },
};

describe("the runner protocol", () => {
  let ground: RunnerGround;
  let placements: { key: string; code: string }[] = [];
  before(async () => {
    const settings = { MILLRACE_LOGIN_RATE: "10", MILLRACE_ADDRESS_CONNECTIONS: String(strangers) };
    ground = await runnerGround({}, settings);
  });
  after(() => ground.stop());

  /** Submits an attempt whose runner the test plays itself. */
  async function submitted(query = "echo ran") {
    placements = [];
    const placer = {
      place: async ({ key, variables }: { key: string; variables: Readonly<Record<string, string>> }) => {
        placements.push({ key, code: variables["MILLRACE_RUNNER_CODE"] ?? "" });
        return "handle";
      },
      list: async () => new Map([[job.key, { isRunning: true, reason: "" }]]),
      remove: async () => {},
      close: async () => {},
    };
    const job = ground.spec(query);
    const engine = await ground.open({ placer });
    await engine.submit(job);
    return { engine, key: job.key, code: placements[0]?.code ?? "" };
  }

  async function claimed(query?: string) {
    const attempt = await submitted(query);
    const answer = await ground.call(routes.runnerClaim, attempt.key, attempt.code, runner("instance-one"));
    assert.equal(answer.status, 200);
    const { token } = (await answer.json()) as { token: string };
    return { ...attempt, token };
  }

  const post = (key: string, token: string, bytes: string, offset: number) =>
    ground.call(routes.runnerLog, key, token, Buffer.from(bytes), { offset: String(offset) });
  const sizeOf = async (answer: Response) => ((await answer.json()) as { size: number }).size;

  /** Starts the real runner with this code, and returns how it ended. */
  async function startRunner(key: string, code: string, { runner = "", url = ground.server.url, folder = "" } = {}) {
    const variables = { MILLRACE_RUNNER_URL: url, MILLRACE_RUNNER_KEY: key, MILLRACE_RUNNER_CODE: code };
    const env = { PATH: process.env["PATH"], MILLRACE_RUNNER_FOLDER: folder, ...variables };
    const child = spawn("python3", ["-I", "-c", runner || (await readRunner())], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [said, [exit]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    return { exit, said };
  }

  it("gives an attempt to one runner: the same one may ask again, another gets 409", async () => {
    const { key, code } = await submitted();
    const ask = (instance: string) => ground.call(routes.runnerClaim, key, code, runner(instance));
    const first = (await (await ask("instance-one")).json()) as { token: string; query: object };
    const again = (await (await ask("instance-one")).json()) as { token: string; query: object };
    assert.deepEqual(again.query, first.query);
    assert.equal((await ask("instance-two")).status, 409);
    // The first answer may have been lost, so only the second one counts.
    assert.equal((await post(key, first.token, "x", 0)).status, 401);
    assert.equal((await post(key, again.token, "x", 0)).status, 200);
  });

  it("tells a runner that claims its attempt the orders that were given before", async () => {
    const { key, code } = await submitted();
    ground.server.runners.order(key, { force: false });
    const answer = await ground.call(routes.runnerClaim, key, code, runner("instance-one"));
    assert.deepEqual(((await answer.json()) as { orders: object }).orders, { cancel: true, force: false });
  });

  it("gives an attempt to one of many runners that ask at the same time", async () => {
    const { key, code } = await submitted();
    const names = [...Array(10).keys()].map((index) => `instance-${index}`);
    const answers = await Promise.all(names.map((name) => ground.call(routes.runnerClaim, key, code, runner(name))));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
  });

  it("makes no path of a runner's name: files outside of the attempt's folder stay as they are", async () => {
    const { key, code } = await claimed();
    const jobs = await mkdtemp(join(tmpdir(), "millrace-claim-"));
    const victim = join(jobs, "victim");
    await writeFile(victim, "whole");
    for (const instance of ["/../../../secret.key", "/../../victim", "........", "a/b/c/d/e/f"])
      assert.equal((await ground.call(routes.runnerClaim, key, code, runner(instance))).status, 422, instance);
    // The folder does not rely on the check of the request.
    await mkdir(join(jobs, "01.1"));
    const folder = new RunnerFolder(jobs, "01.1");
    folder.claimFor({ instance: "/../../victim", host: "node", at: 1 });
    folder.claimFor({ instance: "/../../victim", host: "other", at: 2 });
    assert.equal(await readFile(victim, "utf8"), "whole");
    assert.deepEqual(await readdir(folder.path), ["claim"]);
    assert.equal(folder.claim()?.host, "node");
    await rm(jobs, { recursive: true });
  });

  it("gives nothing of a withdrawn attempt: 410, and the runner ends with 91 and runs nothing", async () => {
    const { engine, key, code } = await submitted();
    assert.equal(await engine.withdraw(attemptNamed(key)), true);
    assert.equal((await ground.call(routes.runnerClaim, key, code, runner("instance-one"))).status, 410);
    const { exit, said } = await startRunner(key, code);
    assert.equal(exit, 91);
    assert.match(said, /withdrawn/);
    await engine.cleanup(key);
    assert.equal((await startRunner(key, code)).exit, 91, "also after the cleanup");
    assert.equal((await ground.log(key)).length, 0);
    assert.equal((await observeOne(engine, key)).state, "ABSENT");
  });

  it("a runner that does not reach the server for long enough ends with 92, and runs nothing", async () => {
    const { engine, key, code } = await submitted();
    const short = (await readRunner()).replace(/^MOST_UNCLAIMED = .*$/m, "MOST_UNCLAIMED = 0.5");
    const { exit, said } = await startRunner(key, code, { runner: short, url: "http://127.0.0.1:9" });
    assert.equal(exit, 92, said);
    assert.match(said, /could not be reached/);
    assert.equal((await observeOne(engine, key)).state, "SUBMITTED", "another runner may come");
  });

  it("a runner whose attempt another one has ends with 91 and runs nothing", async () => {
    const { key, code } = await claimed();
    assert.equal((await startRunner(key, code)).exit, 91);
    assert.equal((await ground.log(key)).length, 0);
  });

  it("a runner leaves nothing of its job behind, however deep its folders are, and follows no links", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-left-"));
    const [nodes, other] = [join(folder, "nodes"), join(folder, "other")];
    for (const path of [nodes, other]) await mkdir(path);
    await writeFile(join(other, "kept"), "");
    // The path of the last one is longer than the system accepts.
    const deep = `[(os.mkdir("d", 0o500 + 0o200 * (i < 2500)), os.chdir("d")) for i in range(2501)]`;
    const { key, code } = await submitted(`ln -s '${other}' link; python3 -c 'import os; ${deep}'`);
    assert.deepEqual(await startRunner(key, code, { folder: nodes }), { exit: 0, said: "" });
    assert.deepEqual([await readdir(nodes), await readdir(other)], [[], ["kept"]]);
    await rm(folder, { recursive: true });
  });

  it("appends to the log only where it ends, and always tells its size", async () => {
    const { key, token } = await claimed();
    assert.equal(await sizeOf(await post(key, token, "one\n", 0)), 4);
    assert.equal(await sizeOf(await post(key, token, "one\n", 0)), 4, "sent twice");
    assert.equal(await sizeOf(await post(key, token, "three\n", 8)), 4, "a gap");
    assert.equal(await sizeOf(await post(key, token, "ne\ntwo\n", 1)), 4, "an overlap");
    assert.equal(await sizeOf(await post(key, token, "two\n", 4)), 8);
    assert.equal(String(await ground.log(key)), "one\ntwo\n");
  });

  it("takes no piece of a log that is too large, whether its size is known before or not", async () => {
    const { key, token } = await claimed();
    const [piece, over] = ["x".repeat(1024 * 1024), routes.runnerLog.bodyLimit + 1];
    const tooLarge = await ground.call(routes.runnerLog, key, token, Buffer.alloc(over), { offset: "0" });
    assert.equal(tooLarge.status, 413);
    const asked = request(`${ground.server.url}${routes.runnerLog.path}?key=${key}&offset=0`, {
      ...{ method: "POST", agent: false },
      headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
    });
    // In chunks, because it does not end at once.
    asked.write(piece);
    asked.end(piece.repeat(2));
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    assert.equal(answer.statusCode, 413);
    answer.resume();
    assert.equal(await sizeOf(await post(key, token, piece, 0)), piece.length);
  });

  it("appends pieces once that arrive at the same time", async () => {
    const { key, token } = await claimed();
    await Promise.all([...Array(8)].map(() => post(key, token, "same\n", 0)));
    assert.equal(String(await ground.log(key)), "same\n");
  });

  it("accepts the end once, when the log is whole, and nothing after it", async () => {
    const { engine, key, token } = await claimed();
    const report = (rest: object) => ground.call(routes.runnerEnd, key, token, { ...end, log_size: 4, ...rest });
    assert.equal((await report({})).status, 409);
    assert.equal((await observeOne(engine, key)).state, "RUNNING");
    await post(key, token, "all\n", 0);
    assert.equal((await report({ exit_code: 3 })).status, 200);
    assert.equal((await report({ exit_code: 0 })).status, 200, "repeating it is harmless");
    assert.equal((await untilState(engine, key, "EXITED")).exit.code, 3);
    assert.equal((await post(key, token, "more", 4)).status, 410);
    assert.equal((await ground.call(routes.runnerBeat, key, token, beat)).status, 410);
    assert.equal((await ground.call(routes.runnerFile, key, token, undefined, { index: "0" })).status, 410);
    await engine.cleanup(key);
    assert.equal((await report({ exit_code: 0 })).status, 200, "also after the cleanup");
    assert.equal(String(await ground.log(key)), "all\n");
  });

  it("believes no time that cannot be: the clock of a node may be wrong", async () => {
    const began = Date.now();
    for (const wrong of [0, began - 100 * 24 * 3600 * 1000, began + 24 * 3600 * 1000, 8.64e15]) {
      const { engine, key, token } = await claimed();
      const steps = [{ name: "query", started_at: wrong }];
      await ground.call(routes.runnerBeat, key, token, { ...beat, steps, wait: false });
      await ground.call(routes.runnerEnd, key, token, { ...end, finished_at: wrong, steps });
      const seen = await untilState(engine, key, "EXITED");
      const times = [seen.steps[0]?.started_at, new Date(seen.exit.finishedAt).toISOString()].map((at) =>
        Date.parse(at ?? ""),
      );
      assert.ok(
        times.every((at) => at >= began && at <= Date.now()),
        `${wrong} ${times}`,
      );
    }
  });

  it("answers a beat at once if there is an order that the runner does not know", async () => {
    const { engine, key, token } = await claimed();
    const asking = ground.call(routes.runnerBeat, key, token, beat);
    await engine.cancel(attemptNamed(key), false);
    assert.deepEqual(await (await asking).json(), { cancel: true, force: false });
    const known = { ...beat, orders: { cancel: true, force: false } };
    const next = ground.call(routes.runnerBeat, key, token, known);
    await engine.cancel(attemptNamed(key), true);
    assert.deepEqual(await (await next).json(), { cancel: true, force: true });
  });

  it("lets many runners behind one address wait at the same time, beyond its limit for strangers", async () => {
    const attempts = [];
    for (let index = 0; index < strangers * 3; index++) attempts.push(await claimed());
    const asking = [];
    for (const [index, { key, token }] of attempts.entries()) {
      asking.push(ground.call(routes.runnerBeat, key, token, { ...beat, age: 100 + index }));
      await until(async () => ground.server.runners.heard(key)?.age === 1000 * (100 + index));
    }
    for (const { engine, key } of attempts) await engine.cancel(attemptNamed(key), false);
    const statuses = (await Promise.all(asking)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([200]));
  });

  it("refuses wrong secrets, keys that are paths, and files that the job does not have", async () => {
    const { key, code, token } = await claimed();
    for (const secret of ["wrong", code, `${token}x`]) assert.equal((await post(key, secret, "x", 0)).status, 401);
    assert.equal((await ground.call(routes.runnerClaim, key, token, runner("instance-one"))).status, 401);
    for (const other of ["../x.1", "..", "", `${key}/../${key}`, "none.1"])
      assert.equal((await post(other, token, "x", 0)).status, 401, other);
    assert.equal((await ground.call(routes.runnerFile, key, token, undefined, { index: "7" })).status, 404);
    assert.equal((await ground.log(key)).length, 0);
  });

  it("counts wrong secrets by address, and never refuses a right one because of them", async () => {
    const { key, token } = await claimed();
    const statuses = new Set<number>();
    while (!statuses.has(429)) statuses.add((await post(key, "wrong", "x", 0)).status);
    assert.deepEqual([...statuses], [401, 429]);
    assert.equal((await post(key, token, "x", 0)).status, 200);
  });
});
