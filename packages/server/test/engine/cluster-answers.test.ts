/** Clusters that answer slowly, without end or nonsense, and many submissions at once. The clusters are FAKE. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { EngineUnreachable } from "../../src/engines/engine.ts";
import { RayClient } from "../../src/engines/ray/ray-client.ts";
import { Calls } from "../../src/engines/runners/calls.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { Runners } from "../../src/engines/runners/runners.ts";
import { SlurmCommands } from "../../src/engines/slurm/slurm-commands.ts";
import { jobSpec } from "../support/job-spec.ts";
import { until } from "../support/until.ts";

const isUnreachable = (error: unknown) => error instanceof EngineUnreachable;

describe("a cluster whose answer", () => {
  let folder: string;
  let answer: (response: ServerResponse) => void;
  const server = createServer((_request, response) => answer(response));
  const clients: RayClient[] = [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-answers-"));
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  after(async () => {
    for (const client of clients) await client.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  function ray(patienceMs: number): RayClient {
    const client = new RayClient(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      "",
      new Calls(patienceMs),
    );
    clients.push(client);
    return client;
  }

  /** Writes a piece again and again until the client leaves. */
  const endlessly = (piece: Buffer, pauseMs: number) => (response: ServerResponse) => {
    const writing = setInterval(() => response.write(piece), pauseMs);
    response.once("close", () => clearInterval(writing));
  };

  it("trickles is given up after the time of the whole call", async () => {
    answer = endlessly(Buffer.from(" "), 20);
    await assert.rejects(ray(300).jobs(), isUnreachable);
  });

  it("comes from a command that is under way when its engine is closed is not waited for", async () => {
    // What the command has started holds its output, also when the command is gone.
    writeFileSync(
      join(folder, "squeue"),
      `#!/bin/sh\necho > ${folder}/begun\nwhile [ -e ${folder} ]; do sleep 0.1; done & wait`,
      {
        mode: 0o755,
      },
    );
    const commands = new SlurmCommands({ slurm_conf: "", slurm_bin: folder });
    const asking = assert.rejects(commands.run("squeue", []), isUnreachable);
    await until(async () => existsSync(join(folder, "begun")));
    commands.close();
    await asking;
  });

  it("is of another shape counts as no answer", async () => {
    const runners = new Runners(folder, () => {});
    const placer = {
      place: async () => "handle",
      list: async () => (null as unknown as Map<string, never>).get("x") as never,
      remove: async () => {},
      close: async () => {},
    };
    const engine = await RunnerEngine.open({ isolation: "none", jobsDir: folder, runners, placer, url: () => "" });
    await assert.rejects(engine.observe([]), isUnreachable);
  });

  it("takes long gets 8 submissions at a time, and all in the end", async () => {
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
