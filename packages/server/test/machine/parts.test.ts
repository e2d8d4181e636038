/** A server consists of parts: they start in order and stop in reverse, and a failed start leaves nothing behind. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pino } from "pino";
import { opened, StartedParts } from "../../src/app/part.ts";
import { startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";

describe("parts", () => {
  const seen: string[] = [];
  const part = (name: string) =>
    opened(
      async () => {
        seen.push(`start ${name}`);
        return name;
      },
      async (given) => void seen.push(`stop ${given}`),
    );

  it("pass what they opened to later parts, and stop in reverse", async () => {
    const parts = new StartedParts();
    assert.equal(await parts.start(part("store")), "store");
    assert.equal(await parts.start(part("engine")), "engine");
    await parts.stop();
    assert.deepEqual(seen.splice(0), ["start store", "start engine", "stop engine", "stop store"]);
  });

  it("that did not start are not stopped, and none is stopped twice", async () => {
    const parts = new StartedParts();
    await parts.start(part("store"));
    const broken = opened(
      () => Promise.reject(new Error("no engine here")),
      () => seen.push("stop broken"),
    );
    await assert.rejects(parts.start(broken), /no engine here/);
    await parts.stop();
    await parts.stop();
    assert.deepEqual(seen.splice(0), ["start store", "stop store"]);
  });
});

it("a server that cannot listen releases its data folder, and a stopped one releases its port", async () => {
  const log = pino({ level: "silent" });
  const folders = [await mkdtemp(join(tmpdir(), "millrace-parts-")), await mkdtemp(join(tmpdir(), "millrace-parts-"))];
  const start = (folder: string | undefined, port: string) =>
    startServer(
      readConfig({ port }, { PATH: process.env["PATH"], MILLRACE_DATA_DIR: folder, MILLRACE_ISOLATION: "none" }),
      log,
    );
  const first = await start(folders[0], "0");
  const { port } = new URL(first.url);
  await assert.rejects(start(folders[1], port), /is already in use/);
  const ready = async () => (await fetch(`${first.url}/readyz`)).status;
  assert.equal(await ready(), 200);
  await first.stop();
  const second = await start(folders[1], port);
  assert.equal(second.url, first.url);
  assert.equal(await ready(), 200);
  await second.stop();
  for (const folder of folders) await rm(folder, { recursive: true });
});
