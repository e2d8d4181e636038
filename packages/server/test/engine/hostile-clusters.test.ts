/**
 * Clusters that are half dead or hostile: nothing that they answer costs the server its memory, its time, or the other
 * clusters. What answers here only plays a Ray head or the commands of Slurm: no real one can be made to behave so.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { routes } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { EngineUnreachable } from "../../src/engines/engine.ts";
import { RayClient, RayRefusal } from "../../src/engines/ray/ray-client.ts";
import { Calls, whyFailed } from "../../src/engines/runners/calls.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { Runners } from "../../src/engines/runners/runners.ts";
import { SlurmCommands } from "../../src/engines/slurm/slurm-commands.ts";
import { startInProcess } from "../support/in-process.ts";
import { jobSpec } from "../support/job-spec.ts";

const mib = 1024 ** 2;

/** Sends a byte now and then, for ever. */
const trickle: RequestListener = (_request, response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write(" "), 20);
  response.on("close", () => clearInterval(timer));
};

describe("a head of Ray", () => {
  let head: Server;
  let url: string;
  let answer: RequestListener;
  let client: RayClient;
  before(async () => {
    head = createServer((request, response) => answer(request, response));
    await once(head.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(head.address() as AddressInfo).port}`;
  });
  afterEach(() => client?.close());
  after(() => {
    head.closeAllConnections();
    head.close();
  });

  const unreachable = (words: RegExp) => (error: Error) =>
    error instanceof EngineUnreachable && words.test(error.message);

  it("whose answer does not end is unreachable, and is not read on", async () => {
    let sent = 0;
    answer = async (_request, response) => {
      response.setMaxListeners(0);
      const piece = Buffer.alloc(mib, " ");
      while (!response.destroyed && sent < 200 * mib) {
        sent += piece.length;
        if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
      }
    };
    client = new RayClient(url, "");
    await assert.rejects(client.jobs(), unreachable(/longer than 16 MiB/));
    assert.ok(sent < 64 * mib, `${sent} bytes`);
  });

  it("that answers in another shape is unreachable", async () => {
    client = new RayClient(url, "");
    for (const body of [
      "null",
      "{}",
      "[null]",
      "[5]",
      '[{"submission_id": 5, "status": "RUNNING"}]',
      "[{}]",
      "<html>",
    ]) {
      answer = (_request, response) => response.end(body);
      await assert.rejects(client.jobs(), unreachable(/does not answer like|not JSON/), body);
      if (!body.startsWith("["))
        await assert.rejects(client.find("x"), unreachable(/does not answer like|not JSON/), body);
    }
  });

  it("that says much is quoted in short", async () => {
    client = new RayClient(url, "");
    const submission = {
      ...{ submission_id: "x", entrypoint: "true", entrypoint_num_cpus: 1, metadata: {} },
      runtime_env: { working_dir: "" },
    };
    for (const [status, told] of [
      [500, EngineUnreachable],
      [400, RayRefusal],
      [502, EngineUnreachable],
    ] as const) {
      answer = (_request, response) => void response.writeHead(status).end("no".repeat(mib));
      const isShort = (error: Error) => error instanceof told && error.message.length < 1200;
      await assert.rejects(client.submit(submission), isShort, String(status));
    }
  });

  it("that sends a byte now and then is given up after the time of the whole call", async () => {
    answer = trickle;
    client = new RayClient(url, "", new Calls(300));
    await assert.rejects(client.jobs(), unreachable(/no answer within/));
  });

  it("that sends a byte now and then holds up nobody when its cluster is closed", async () => {
    answer = trickle;
    client = new RayClient(url, "");
    const asked = assert.rejects(client.jobs(), unreachable(/closed|destroyed/));
    await once(head, "request");
    await client.close();
    await asked;
  });

  it("that sends a byte now and then delays neither its cancels, nor other clusters, nor the end of the server", async () => {
    answer = trickle;
    const server = await startInProcess();
    const admin = await server.client();
    const add = (name: string) =>
      admin.call(routes.createCluster, {
        body: { name, engine: "ray", max_workers: 2, teams: ["main"], ray: { address: url } },
      });
    await add("slow");
    const job = await createJob(admin, shell("true", { compute_cluster_name: "slow" }));
    await once(head, "request");
    await admin.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    const body = { ray: { cpus_per_worker: 2 } };
    await admin.call(routes.updateCluster, { params: { cluster_name: "slow" }, body });
    await add("other");
    await server.dispose();
  });
});

describe("calls to a cluster", () => {
  it("end after a while, and say so", async () => {
    const calls = new Calls(1);
    const signal = calls.limit();
    await once(signal, "abort");
    assert.match(whyFailed(signal.reason), /no answer within/);
  });

  it("for lists wait after a long one, unless the cluster is closed", async () => {
    const calls = new Calls();
    await calls.rest();
    calls.noteList("x".repeat(100 * mib));
    const resting = calls.rest().then(() => "over");
    assert.equal(await Promise.race([resting, sleep(5, "resting")]), "resting");
    calls.close();
    assert.equal(await resting, "over");
    assert.throws(() => calls.limit().throwIfAborted(), /closed/);
  });
});

describe("the commands of Slurm", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-commands-"));
    await mkdir(join(folder, "running"));
  });
  after(() => rm(folder, { recursive: true }));

  async function commands(program: string, script: string): Promise<SlurmCommands> {
    await writeFile(join(folder, program), `#!/bin/sh\ncd ${folder}\n${script}\n`);
    await chmod(join(folder, program), 0o755);
    return new SlurmCommands({ slurm_bin: folder, slurm_conf: "" });
  }

  it("run a few at a time, however many jobs are to be placed", async () => {
    const slurm = await commands(
      "sbatch",
      "touch running/$$; ls running | wc -l >>most; sleep 0.1; rm running/$$; echo 7",
    );
    const said = await Promise.all(Array.from({ length: 24 }, () => slurm.run("sbatch", [])));
    assert.deepEqual(new Set(said), new Set(["7\n"]));
    const counts = (await readFile(join(folder, "most"), "utf8")).trim().split("\n").map(Number);
    assert.equal(counts.length, 24);
    assert.ok(Math.max(...counts) <= 4, `${counts}`);
  });

  it("that print without end are ended", async () => {
    const slurm = await commands("squeue", "echo $$ >pid; exec yes");
    await assert.rejects(slurm.list([]), /longer than 16 MiB/);
    const pid = Number(await readFile(join(folder, "pid"), "utf8"));
    while (await isAlive(pid)) await sleep(10);
  });

  it("that hang are ended when the cluster is closed", async () => {
    const slurm = await commands("squeue", `echo $$ >hanging; while [ -e ${folder} ]; do sleep 0.1; done & wait`);
    const asked = assert.rejects(slurm.list([]), EngineUnreachable);
    const read = () => readFile(join(folder, "hanging"), "utf8").catch(() => "");
    while ((await read()) === "") await sleep(10);
    slurm.close();
    await asked;
    const pid = Number(await read());
    while (await isAlive(pid)) await sleep(10);
    await assert.rejects(slurm.list([]), /closed/);
  });
});

describe("an engine with runners", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-engine-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("takes an answer of another shape for none", async () => {
    const runners = new Runners(folder, () => {});
    const placer = {
      place: async () => "handle",
      list: async () => (null as unknown as Map<string, never>).get("x") as never,
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir: folder, runners, placer, url: () => "" });
    await assert.rejects(engine.observe([]), EngineUnreachable);
  });

  it("submits 8 attempts at a time to a placer that takes long, and all in the end", async () => {
    const runners = new Runners(folder, () => {});
    const [placed, waiting] = [[] as string[], [] as (() => void)[]];
    let most = 0;
    const placer = {
      place: async ({ key }: { readonly key: string }) => {
        const answered = new Promise<void>((resolve) => waiting.push(resolve));
        most = Math.max(most, waiting.length);
        await answered;
        placed.push(key);
        return "handle";
      },
      list: async () => new Map(),
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir: folder, runners, placer, url: () => "" });
    const specs = [...Array(50).keys()].map((index) => jobSpec({ jobId: `many-${index}`, query: "true" }));
    const submitting = Promise.all(specs.map((spec) => engine.submit(spec)));
    const answering = setInterval(() => waiting.shift()?.(), 1);
    await submitting;
    clearInterval(answering);
    assert.deepEqual([most <= 8, placed], [true, specs.map(({ key }) => key)]);
  });
});

/** Whether a process runs, and is not just waiting to be reaped. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return status !== "" && !/\) [ZX] /.test(status);
}
