/**
 * The routes of runners under random calls with a valid secret, in random order: a job can act in its runner's name. A
 * model says what each call must do. Long form: FUZZ_EXAMPLES=1000; FUZZ_SEED selects other calls.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Route, routes } from "@millrace/contract";
import { Random } from "@millrace/testing/random.ts";
import { attemptNamed, observeOne } from "../../support/attempts.ts";
import { type RunnerGround, runnerGround } from "./runner-ground.ts";

const attempts = Number(process.env["FUZZ_EXAMPLES"] ?? "15");
const seed = Number(process.env["FUZZ_SEED"] ?? "1");
const calls = 40;
const limit = 20_000;

const beat = { steps: [], age: 1, orders: { cancel: false, force: false }, usage: null, wait: false };
const end = {
  ...{ exit_code: 0, phase: "query", finished_at: 1000, log_size: 0 },
  ...{ steps: [], usage: null, over_limit: null, metrics: null },
};

/** Values that no field expects. */
const odd = [
  ...[null, "", "x".repeat(3000), -1, 1.5, 1e300, true, [], {}, [[]], "\u0000", "../../etc", "\ud800", 2 ** 53],
  ...[{ name: 5 }, [{ name: "query", started_at: 8.64e15 }], [{ name: "query", started_at: "now" }], [null]],
];

describe("the routes of runners under random calls", () => {
  let ground: RunnerGround;
  before(async () => {
    // The test sends wrong secrets as well, and must not be locked out for it.
    ground = await runnerGround({ limits: limits() }, { MILLRACE_LOGIN_RATE: "1000000" });
  });
  after(() => ground.stop());

  it("never fail, and accept nothing twice", { timeout: 600_000 }, async () => {
    const warnings: string[] = [];
    const warn = (warning: Error) => void warnings.push(warning.message);
    process.on("warning", warn);
    for (let number = 0; number < attempts; number++) await new Attempt(ground, new Random(seed + number)).run();
    process.off("warning", warn);
    assert.deepEqual(warnings, [], "nothing is left on connections that serve many calls");
  });
});

const limits = () => ({ seconds: 0, memory: 0, processes: 0, openFiles: 0, log: limit, disk: 0 });

/** One attempt, the calls of its runner, and what the server must have of it. */
class Attempt {
  readonly #ground: RunnerGround;
  readonly #random: Random;
  #key = "";
  #code = "";
  #token = "";
  #log = Buffer.alloc(0);
  #end: number | undefined;
  #isCanceled = false;

  constructor(ground: RunnerGround, random: Random) {
    this.#ground = ground;
    this.#random = random;
  }

  async run(): Promise<void> {
    const engine = await this.#submit();
    await this.#claim();
    const kinds = [
      ...[() => this.#append(), () => this.#append(), () => this.#append(), () => this.#beat(), () => this.#report()],
      ...[() => this.#claim(), () => this.#claimAsAnother(), () => this.#garble(), () => this.#garble()],
      ...[() => this.#file(), () => this.#wrongSecret(), () => this.#cancel(engine)],
    ];
    for (let call = 0; call < calls; call++) await this.#random.pick(kinds)();
    assert.deepEqual(await this.#ground.log(this.#key), this.#log, "the log is what was accepted, in order and once");
    const seen = await observeOne(engine, this.#key);
    assert.equal(seen.state === "EXITED" ? seen.exit.code : undefined, this.#end, seen.state);
    await engine.cleanup(this.#key);
  }

  async #submit() {
    const placer = {
      place: async ({ variables }: { variables: Readonly<Record<string, string>> }) => {
        this.#code = variables["MILLRACE_RUNNER_CODE"] ?? "";
        return "handle";
      },
      list: async () => new Map([[this.#key, { isRunning: true, reason: "" }]]),
      remove: async () => {},
      close: async () => {},
    };
    const engine = await this.#ground.open({ placer });
    const job = this.#ground.spec("true");
    this.#key = job.key;
    await engine.submit(job);
    return engine;
  }

  async #call(route: Route, body: unknown, query: Record<string, string> = {}, secret = this.#token) {
    const answer = await this.#ground.call(route, this.#key, secret, body, query);
    const text = await answer.text();
    assert.ok(answer.status < 500, `${route.id} ${answer.status} ${text}`);
    return { status: answer.status, text };
  }

  async #claim(): Promise<void> {
    const runner = { instance: "instance-one", host: "node", python: "3.11.2" };
    const { status, text } = await this.#call(routes.runnerClaim, runner, {}, this.#code);
    assert.equal(status, this.#end === undefined ? 200 : 410);
    if (status === 200) this.#token = (JSON.parse(text) as { token: string }).token;
  }

  async #claimAsAnother(): Promise<void> {
    const runner = { instance: "instance-two", host: "node", python: "3.11.2" };
    const { status } = await this.#call(routes.runnerClaim, runner, {}, this.#code);
    assert.equal(status, this.#end === undefined ? 409 : 410);
  }

  async #append(): Promise<void> {
    const piece = this.#random.bytes(4 * this.#random.below(500));
    const offset = this.#random.pick([this.#log.length, this.#log.length, 0, this.#random.below(limit), 2 ** 52]);
    const { status, text } = await this.#call(routes.runnerLog, piece, { offset: String(offset) });
    if (this.#end !== undefined) return assert.equal(status, 410);
    // What is beyond the limit by less than 2 MiB is accepted; no log of this test is longer.
    assert.equal(status, 200, text);
    if (offset === this.#log.length) this.#log = Buffer.concat([this.#log, piece]);
    assert.deepEqual(JSON.parse(text), { size: this.#log.length });
  }

  async #beat(): Promise<void> {
    const { status, text } = await this.#call(routes.runnerBeat, { ...beat, age: this.#random.next() * 1e9 });
    assert.equal(status, this.#end === undefined ? 200 : 410);
    if (status === 200) assert.deepEqual(JSON.parse(text), { cancel: this.#isCanceled, force: false });
  }

  async #report(): Promise<void> {
    const exit_code = this.#random.below(256);
    const log_size = this.#random.pick([this.#log.length + 1, this.#log.length + 4, 2 ** 52, this.#log.length]);
    const { status } = await this.#call(routes.runnerEnd, { ...end, exit_code, log_size });
    if (this.#end !== undefined) return assert.equal(status, 200, "repeating it is harmless");
    assert.equal(status, log_size > this.#log.length ? 409 : 200);
    if (status === 200) this.#end = exit_code;
  }

  async #file(): Promise<void> {
    const { status } = await this.#call(routes.runnerFile, undefined, { index: String(this.#random.below(3)) });
    assert.equal(status, this.#end === undefined ? 404 : 410);
  }

  /** A body in which one field is of another kind, or a body of another kind. */
  async #garble(): Promise<void> {
    const [route, good] = this.#random.pick([
      [routes.runnerBeat, beat],
      [routes.runnerEnd, { ...end, log_size: 2 ** 52 }],
      [routes.runnerClaim, { instance: "instance-two", host: "node", python: "3" }],
      [routes.runnerLog, {}],
    ] as const);
    const field = this.#random.pick(Object.keys(good).filter((name) => name !== "wait" && name !== "log_size"));
    const value = this.#random.pick(odd);
    const body = field === undefined || this.#random.below(4) === 0 ? value : { ...good, [field]: value };
    // A beat that waits would only take time.
    const query = { offset: String(this.#random.pick([0, -1, 1.5, "x", 2 ** 60])) };
    await this.#call(route, body ?? {}, query, route === routes.runnerClaim ? this.#code : this.#token);
  }

  async #wrongSecret(): Promise<void> {
    const secret = this.#random.pick([this.#code, `${this.#token}x`, "x", "%00%00"]);
    assert.equal((await this.#call(routes.runnerLog, Buffer.from("planted"), { offset: "0" }, secret)).status, 401);
  }

  async #cancel(engine: Awaited<ReturnType<RunnerGround["open"]>>): Promise<void> {
    if (this.#end !== undefined) return;
    await engine.cancel(attemptNamed(this.#key), false);
    this.#isCanceled = true;
  }
}
