/** Packed virtualenvs: a runner builds one, packs it and stores it on the server, and runners on other nodes fetch it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { serveWheel } from "@millrace/testing/programs/wheels.ts";
import type { JobSpec } from "../../../src/engines/engine.ts";
import type { RunnerEngine, RunnerEngineOptions } from "../../../src/engines/runners/runner-engine.ts";
import { attemptNamed } from "../../support/attempts.ts";
import { until } from "../../support/until.ts";
import { markedProcesses } from "../remote/marked-processes.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

/** Says where its virtualenv is, and starts a program of it. */
const query = `import os, subprocess, sys
print("in", sys.prefix, "beside", os.listdir("../input"), flush=True)
subprocess.run([os.path.join(sys.prefix, "bin", "say-packed")], check=True)
`;

const wheel = {
  "packed.py": "def main():\n    import sys\n    print('said by', sys.executable)\n",
  "packed-1.0.dist-info/entry_points.txt": "[console_scripts]\nsay-packed = packed:main\n",
};

/** Forwards everything to a server, except for what `handle` answers itself. */
async function forwarder(to: string, handle: (asked: IncomingMessage, answer: ServerResponse) => boolean) {
  const server = createServer((asked, answer) => {
    if (handle(asked, answer)) return;
    const { method = "GET", headers, url = "" } = asked;
    const forwarded = request(`${to}${url}`, { method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    asked.pipe(forwarded);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const isAboutPacks = ({ url = "" }: IncomingMessage) => url.startsWith("/api/runner/pack");

describe("a packed virtualenv", () => {
  let ground: RunnerGround;
  let index: Awaited<ReturnType<typeof serveWheel>>;
  before(async () => {
    ground = await runnerGround({ packs: true });
    index = await serveWheel("packed", wheel);
  });
  after(async () => {
    index.close();
    await ground.stop();
  });

  /** An engine whose runners keep virtualenvs in a folder of their own, as on the disk of one node. */
  function node(name: string, options: Partial<RunnerEngineOptions> = {}): Promise<RunnerEngine> {
    const folder = join(ground.folder, name);
    mkdirSync(folder, { recursive: true });
    return ground.open({ environments: { folder, days: 0, bytes: 0 }, ...options });
  }
  const spec = (rest: Partial<JobSpec> = {}, { url } = index) =>
    ground.spec(query, {
      ...{ queryType: "PYTHON", name: "job.py", requirements: "packed==1.0" },
      environment: { PIP_INDEX_URL: url },
      ...rest,
    });
  async function run(on: RunnerEngine, job: JobSpec) {
    await on.submit(job);
    const { exit } = await untilState(on, job.key, "EXITED");
    const log = String(await ground.log(job.key));
    assert.equal(exit.code, 0, log);
    assert.match(log, /said by/);
    return log;
  }
  /** Waits for the end of a runner: one that loses its server before it has an answer would wait for it for ever. */
  const gone = (key: string) => until(async () => markedProcesses(key, "MILLRACE_RUNNER_KEY").pids.length === 0);
  /** Paths of the packs of a team. */
  function packsOf(team: number): string[] {
    const folder = join(ground.server.dataDir, "packs", `team-${team}`, "all");
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.filter((name) => !name.endsWith(".used")).map((name) => join(folder, name));
  }

  it("is built on one node and fetched by others, where its programs work", async () => {
    const once = await serveWheel("packed", wheel);
    const first = await run(await node("one"), spec({}, once));
    // From now on nothing can be built.
    once.close();
    assert.match(first, /Building virtualenv/);
    assert.doesNotMatch(first, /could not be|pack.json/);
    assert.equal(packsOf(1).length, 1);
    const long = `two/${"a-long-name".repeat(12)}`;
    for (const name of ["two", long]) {
      const log = await run(await node(name), spec({}, once));
      assert.doesNotMatch(log, /Building virtualenv|could not be|pack.json/);
      assert.match(log, /Using a packed virtualenv that an earlier job built/);
      const place = /in (\S+)/.exec(log)?.[1] ?? "";
      assert.ok(place.startsWith(join(ground.folder, name, "team-1/")), place);
      assert.match(log, new RegExp(`said by ${place}/bin/python`));
      assert.match(await run(await node(name), spec({}, once)), /Using a virtualenv that an earlier job built/);
    }
    // A node that keeps no virtualenvs.
    assert.match(await run(ground.engine, spec({}, once)), /Using a packed virtualenv/);
  });

  it("is made before anything of the job runs, also what its variables let a clone run", async () => {
    const evil = join(ground.folder, "evil-ssh");
    const lines = [
      "#!/bin/sh",
      "mkdir -p ../.pip",
      "echo '[global]' >../.pip/pip.conf",
      "echo 'no-index = true' >>../.pip/pip.conf",
      "echo 'code of the job' >&2",
      "exit 1",
    ];
    writeFileSync(evil, `${lines.join("\n")}\n`, { mode: 0o755 });
    const job = spec({
      teamId: 7,
      repository: "ssh://git@127.0.0.1/nothing.git",
      environment: { PIP_INDEX_URL: index.url, GIT_SSH_COMMAND: evil },
    });
    await ground.engine.submit(job);
    await untilState(ground.engine, job.key, "EXITED");
    const log = String(await ground.log(job.key));
    assert.match(log, /Building virtualenv.*code of the job/s);
    assert.equal(packsOf(7).length, 1, log);
    assert.match(await run(await node("after"), spec({ teamId: 7 })), /Using a packed virtualenv/);
  });

  it("that is damaged costs a build, and stays as it is", async () => {
    assert.match(await run(ground.engine, spec({ teamId: 2 })), /Building virtualenv/);
    const [path = ""] = packsOf(2);
    const whole = readFileSync(path);
    chmodSync(path, 0o600);
    const damaged = Buffer.from(whole).fill("changed", Math.floor(whole.length / 2), whole.length - 1000);
    writeFileSync(path, damaged);
    const log = await run(await node("damaged"), spec({ teamId: 2 }));
    assert.match(log, /could not be fetched, so it is built: .+\n/);
    assert.equal(log.match(/could not be/g)?.length, 1, log);
    assert.match(log, /Building virtualenv/);
    assert.deepEqual(readFileSync(path), damaged);
  });

  it("that cannot be fetched or stored costs a build, however the connection ends", async () => {
    const asked: string[] = [];
    const cutting = await forwarder(ground.server.url, (request, answer) => {
      if (!isAboutPacks(request)) return false;
      asked.push(request.method ?? "");
      // In the middle of an answer, or of a body.
      if (request.method === "POST") request.once("data", () => request.destroy());
      else answer.writeHead(200, { "content-length": 1000 }).write(Buffer.from([0x1f, 0x8b]), () => answer.destroy());
      return true;
    });
    const job = spec({ teamId: 3 });
    const log = await run(await node("cut", { url: cutting.url }), job);
    await gone(job.key);
    cutting.close();
    assert.match(log, /could not be fetched, so it is built: the server does not answer: /);
    assert.match(log, /could not be stored: the server does not answer: /);
    assert.ok(asked.filter((method) => method === "GET").length > 1, "it is tried again");
    assert.ok(asked.filter((method) => method === "POST").length > 1, "it is tried again");
    assert.deepEqual(packsOf(3), []);
  });

  it("that another runner has stored meanwhile is not stored again, and nothing is said about it", async () => {
    assert.match(await run(ground.engine, spec({ teamId: 4 })), /Building virtualenv/);
    const [path = ""] = packsOf(4);
    const before = readFileSync(path);
    // This runner asks before there is a pack.
    const early = await forwarder(ground.server.url, (request, answer) => {
      if (!isAboutPacks(request) || request.method !== "GET") return false;
      const { headers, url = "" } = request;
      void fetch(`${ground.server.url}${url}`, { headers: { authorization: headers.authorization ?? "" } })
        .then((given) => given.body?.cancel())
        .then(() => answer.writeHead(404).end(JSON.stringify({ code: "not_found", message: "" })));
      return true;
    });
    const job = spec({ teamId: 4 });
    const log = await run(await node("early", { url: early.url }), job);
    await gone(job.key);
    early.close();
    assert.match(log, /Building virtualenv/);
    assert.doesNotMatch(log, /could not be/);
    assert.deepEqual(readFileSync(path), before);
  });

  it("lets a job be canceled while it is fetched, and keeps nothing half-fetched", async () => {
    const waiting = Promise.withResolvers<void>();
    const mute = await forwarder(ground.server.url, (request) => {
      if (isAboutPacks(request)) waiting.resolve();
      return isAboutPacks(request);
    });
    const on = await node("canceled", { url: mute.url });
    const job = spec({ teamId: 5 });
    await on.submit(job);
    await waiting.promise;
    await on.cancel(attemptNamed(job.key), false);
    const { exit, steps } = await untilState(on, job.key, "EXITED");
    await gone(job.key);
    mute.close();
    assert.notEqual(exit.code, 0);
    assert.equal(steps.at(-1)?.name, "environment");
    await until(async () => markedProcesses(job.key, "MILLRACE_ATTEMPT").pids.length === 0);
    const names = readdirSync(join(ground.folder, "canceled/team-5"));
    assert.ok(!names.some((name) => name.endsWith(".ready")), names.join());
  });
});
