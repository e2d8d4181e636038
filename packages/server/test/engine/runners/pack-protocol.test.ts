/** The part of the runner protocol about packed virtualenvs, call by call, as a runner would make them. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { routes } from "@millrace/contract";
import type { JobSpec } from "../../../src/engines/engine.ts";
import type { RunnerEngineOptions } from "../../../src/engines/runners/runner-engine.ts";
import { until } from "../../support/until.ts";
import { type RunnerGround, runnerGround } from "./runner-ground.ts";

let counter = 0;
/** A new key of a virtualenv. */
const environmentKey = () => (++counter).toString(16).padStart(40, "0");
const runner = { instance: "instance-one", host: "node", python: "3.11.2" };
const step = { name: "environment", started_at: 1000 };
const beat = { steps: [step], age: 1, orders: { cancel: false, force: false }, usage: null, wait: false };
const end = {
  ...{ exit_code: 0, phase: "query", finished_at: 1000, log_size: 0 },
  ...{ steps: [], usage: null, over_limit: null, metrics: null },
};

describe("a runner that packs virtualenvs", () => {
  let ground: RunnerGround;
  before(async () => {
    ground = await runnerGround();
  });
  after(() => ground.stop());

  const claim = async (key: string, code: string) =>
    (await (await ground.call(routes.runnerClaim, key, code, runner)).json()) as {
      token: string;
      pack_ticket?: string;
      scripts: Record<string, string>;
    };

  /** Claims an attempt whose runner the test plays itself. */
  async function claimed(rest: Partial<JobSpec> = {}, options: Partial<RunnerEngineOptions> = { packs: true }) {
    let code = "";
    const placer = {
      place: async ({ variables }: { variables: Readonly<Record<string, string>> }) => {
        code = variables["MILLRACE_RUNNER_CODE"] ?? "";
        return "handle";
      },
      list: async () => new Map(),
      remove: async () => {},
      close: async () => {},
    };
    const { key, ...job } = ground.spec("true", { requirements: "packed", ...rest });
    await (await ground.open({ placer, ...options })).submit({ key, ...job });
    const { token, pack_ticket: ticket = "none", scripts } = await claim(key, code);
    return { key, code, token, ticket, scripts };
  }
  type Claimed = Awaited<ReturnType<typeof claimed>>;

  const ask = ({ key, token }: Claimed, environment: string) =>
    ground.call(routes.runnerPack, key, token, undefined, { virtualenv: environment });
  const store = ({ key, token, ticket }: Claimed, environment: string, content = "packed") =>
    ground.call(routes.runnerStorePack, key, token, Buffer.from(content), { virtualenv: environment, ticket });
  const statusOf = async (answer: Promise<Response>) => (await answer).status;
  const folder = () => join(ground.server.dataDir, "packs");
  const stored = () =>
    existsSync(folder())
      ? readdirSync(folder(), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ name }) => name)
      : [];
  /** Asks for a virtualenv that has no pack, and stores one. */
  async function storeNew(environment: string, content?: string, job: Partial<JobSpec> = {}): Promise<Claimed> {
    const attempt = await claimed(job);
    assert.equal(await statusOf(ask(attempt, environment)), 404);
    assert.equal(await statusOf(store(attempt, environment, content)), 200);
    return attempt;
  }

  it("gets 404 if there is no pack, stores one, and other attempts get what it stored", async () => {
    const environment = environmentKey();
    await storeNew(environment, "the first one");
    const answer = await ask(await claimed(), environment);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-length"), "13");
    assert.equal(await answer.text(), "the first one");
  });

  it("gets no ticket, no script and no pack if its cluster packs nothing, or if its virtualenv is of its job alone", async () => {
    const environment = environmentKey();
    await storeNew(environment);
    for (const attempt of [
      await claimed({}, {}),
      await claimed({ requirements: null }),
      await claimed({ requirements: "./wheel-of-the-job.whl" }),
    ]) {
      assert.equal(attempt.ticket, "none");
      assert.equal(attempt.scripts["packs.py"], undefined);
      assert.equal(await statusOf(ask(attempt, environment)), 409);
      assert.equal(await statusOf(store(attempt, environment)), 409);
    }
  });

  it("stores only the pack that it asked for, with its ticket, once, and while its attempt runs", async () => {
    const [asked, other] = [environmentKey(), environmentKey()];
    const attempt = await claimed();
    assert.equal(await statusOf(store(attempt, asked)), 409, "it has not asked");
    assert.equal(await statusOf(ask(attempt, asked)), 404);
    assert.equal(await statusOf(ask(attempt, other)), 409, "it has asked for another one");
    assert.equal(await statusOf(store(attempt, other)), 409);
    assert.equal(await statusOf(store({ ...attempt, ticket: "none" }, asked)), 409);
    assert.equal(await statusOf(store({ ...attempt, ticket: attempt.token }, asked)), 409);
    assert.equal(await statusOf(store(attempt, "../../../etc/passwd")), 422);
    assert.equal(await statusOf(store(attempt, asked.slice(1))), 422);
    assert.deepEqual(
      stored().filter((name) => [asked, other].includes(name)),
      [],
    );
    assert.equal(await statusOf(store(attempt, asked)), 200);
    assert.equal(await statusOf(store(attempt, asked)), 409);
    const late = await claimed();
    assert.equal(await statusOf(ask(late, other)), 404);
    assert.equal(await statusOf(ground.call(routes.runnerEnd, late.key, late.token, end)), 200);
    assert.equal(await statusOf(store(late, other)), 410);
    assert.equal(await statusOf(ask(late, other)), 410);
  });

  it("gets a new ticket when it repeats its claim, but not after a step of the job has begun", async () => {
    const environment = environmentKey();
    const { key, code, ...first } = await claimed();
    const again = await claim(key, code);
    assert.notEqual(again.pack_ticket, first.ticket);
    const attempt = { key, code, ...first, token: again.token };
    assert.equal(await statusOf(ask(attempt, environment)), 404);
    assert.equal(await statusOf(store(attempt, environment)), 409, "the first ticket is void");
    assert.equal(await statusOf(ground.call(routes.runnerBeat, key, again.token, beat)), 200);
    const late = await claim(key, code);
    assert.equal(late.pack_ticket, undefined);
    const now = { ...attempt, token: late.token, ticket: again.pack_ticket ?? "" };
    assert.equal(await statusOf(store(now, environment)), 200, "the ticket that it has is valid");
  });

  it("never replaces a pack, whoever is first", async () => {
    const environment = environmentKey();
    const [one, two] = [await claimed(), await claimed()];
    for (const attempt of [one, two]) assert.equal(await statusOf(ask(attempt, environment)), 404);
    const statuses = await Promise.all([store(one, environment, "a"), store(two, environment, "a")].map(statusOf));
    assert.deepEqual(statuses.sort(), [200, 409]);
    const late = await claimed();
    assert.equal(await (await ask(late, environment)).text(), "a");
    // The body is far longer than what a connection holds: the answer must arrive all the same.
    assert.equal(await statusOf(store(late, environment, "b".repeat(20_000_000))), 409);
    assert.equal(await (await ask(await claimed(), environment)).text(), "a");
  });

  it("gets no pack of another team", async () => {
    const environment = environmentKey();
    await storeNew(environment, "of team 1");
    await storeNew(environment, "of team 2", { teamId: 2 });
    assert.equal(await (await ask(await claimed(), environment)).text(), "of team 1");
    assert.equal(await statusOf(ask(await claimed({ teamId: 3 }), environment)), 404);
  });

  it("gets no pack of a job with somebody's own secrets, unless its job has those of the same person", async () => {
    const environment = environmentKey();
    await storeNew(environment, "of a person", { person: 7 });
    for (const person of [null, 8])
      assert.equal(await statusOf(ask(await claimed({ person }), environment)), 404, String(person));
    assert.equal(await (await ask(await claimed({ person: 7 }), environment)).text(), "of a person");
    assert.equal(await statusOf(ask(await claimed({ person: 7, teamId: 2 }), environment)), 404);
  });

  it("that is cut off in the middle of a pack stores nothing, and can try again", async () => {
    for (const headers of [{ "content-length": "100000" }, { "transfer-encoding": "chunked" }] as const) {
      const environment = environmentKey();
      const attempt = await claimed();
      const { key, token, ticket } = attempt;
      assert.equal(await statusOf(ask(attempt, environment)), 404);
      const query = new URLSearchParams({ key, virtualenv: environment, ticket });
      const sending = request(`${ground.server.url}${routes.runnerStorePack.path}?${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream", ...headers },
      });
      sending.on("error", () => {});
      sending.write("x".repeat(50_000));
      await until(async () => stored().some((name) => name.endsWith(".part")));
      sending.destroy();
      await until(async () => !stored().some((name) => name.endsWith(".part")));
      assert.ok(!stored().includes(environment));
      assert.equal(await statusOf(store(attempt, environment)), 200);
    }
  });

  it("that ends while it stores a pack stores nothing", async () => {
    const environment = environmentKey();
    const attempt = await claimed();
    const { key, token, ticket } = attempt;
    assert.equal(await statusOf(ask(attempt, environment)), 404);
    async function* slowly() {
      yield Buffer.from("beginning");
      await until(async () => stored().some((name) => name.endsWith(".part")));
      assert.equal(await statusOf(ground.call(routes.runnerEnd, key, token, end)), 200);
      yield Buffer.from("end");
    }
    const query = new URLSearchParams({ key, virtualenv: environment, ticket });
    const answer = await fetch(`${ground.server.url}${routes.runnerStorePack.path}?${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
      body: Readable.toWeb(Readable.from(slowly())) as ReadableStream,
      duplex: "half",
    });
    assert.equal(answer.status, 410);
    assert.ok(!stored().includes(environment));
  });

  /** Stores a pack on a server with other settings. */
  async function storeWith(settings: Record<string, string>, content: string): Promise<number> {
    const other = await runnerGround({}, settings);
    try {
      const folder = other.server.runners.folder("other.1");
      folder.make();
      folder.writeJson("packs", { team: 1, person: null });
      folder.write("job", "{}");
      const { token, pack_ticket: ticket = "" } = other.server.runners.claim("other.1", runner);
      const environment = environmentKey();
      const asked = await other.call(routes.runnerPack, "other.1", token, undefined, { virtualenv: environment });
      assert.equal(asked.status, 404);
      const query = { virtualenv: environment, ticket };
      return await statusOf(other.call(routes.runnerStorePack, "other.1", token, Buffer.from(content), query));
    } finally {
      await other.stop();
    }
  }

  it("is told that there is no room if the server's disk is nearly full", async () => {
    assert.equal(await storeWith({ MILLRACE_DISK_FLOOR: "1000000GiB" }, "x"), 507);
  });

  it("is told that a pack is too large, in its middle", async () => {
    const settings = { MILLRACE_PACKS_SIZE: "100KiB" };
    assert.equal(await storeWith(settings, "x".repeat(100 * 1024)), 200);
    assert.equal(await storeWith(settings, "x".repeat(5_000_000)), 413);
  });
});
