/** Many followers of one log: the cost is bounded, and each gets every byte. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, LogPiece } from "@millrace/contract";
import { createJob, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { WebSocket } from "ws";
import { KeptFrames, LogFrames } from "../../src/logs/log-frames.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { head, openRaw } from "../support/raw-http.ts";

type Frame = { logs?: LogPiece[]; job?: { status: string } };

describe("many followers of one log", () => {
  let server: InProcessServer;
  let client: Client;
  let folder: string;
  const sockets: WebSocket[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-followers-"));
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(async () => {
    for (const socket of sockets) socket.terminate();
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  async function connect(jobId: string, after = 0): Promise<WebSocket> {
    const search = `team_name=main&job_id=${jobId}&after=${after}`;
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/logs/follow/?${search}`, {
      headers: { authorization: `token ${await server.token()}` },
      perMessageDeflate: false,
    });
    sockets.push(socket);
    await once(socket, "open");
    return socket;
  }

  /** Digest of everything received until the server closed, with errors in the ids. */
  async function receive(socket: WebSocket, from = 0) {
    const hash = createHash("sha256");
    let at = from;
    let gaps = 0;
    let status = "";
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      for (const { id, message } of frame.logs ?? []) {
        if (id !== at + 1) gaps++;
        at = id - 1 + Buffer.byteLength(message);
        hash.update(message);
      }
      status = frame.job?.status ?? status;
    });
    const [code] = (await once(socket, "close")) as [number];
    return { sha256: hash.digest("hex"), length: at, gaps, status, code };
  }

  async function metric(name: string): Promise<number> {
    const text = await (await server.fetch("/metrics")).text();
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  }

  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

  it("200 followers get every byte, and the log is read and masked about once, not 200 times", async () => {
    const gate = join(folder, "gate");
    const lines = 15_000;
    const script = `while [ ! -e ${gate} ]; do sleep 0.05; done; seq -f 'line %.0f of the log that all follow' 1 ${lines}`;
    const job = await createJob(client, shell(script));
    await waitForStatus(client, job.id, ["RUNNING"]);
    const followers = await Promise.all([...Array(200)].map(() => connect(job.id)));
    const before = await metric("millrace_log_read_bytes_total");
    const received = followers.map((socket) => receive(socket));
    await writeFile(gate, "");
    const results = await Promise.all(received);
    const text = Array.from({ length: lines }, (_, i) => `line ${i + 1} of the log that all follow\n`).join("");
    const expected = { sha256: sha256(text), length: text.length, gaps: 0, status: "COMPLETE", code: 1000 };
    for (const result of results) assert.deepEqual(result, expected);
    const read = (await metric("millrace_log_read_bytes_total")) - before;
    assert.ok(read >= text.length && read <= 3 * text.length, `${read} bytes read of ${text.length}`);
  });

  it("a follower that reads nothing has at most one frame waiting, and delays nobody", async () => {
    const { job } = await runJob(client, shell("yes 'a line that is as long as many' | head -c 60000000"));
    const stalled = await connect(job.id);
    (stalled as unknown as { _socket: { pause(): void } })._socket.pause();
    const { length, gaps } = await receive(await connect(job.id));
    assert.deepEqual([length, gaps], [60_000_000, 0]);
    const buffered = await metric("millrace_log_buffered_bytes");
    assert.ok(buffered > 0 && buffered <= 1024 ** 2, `${buffered} bytes are buffered`);
    stalled.terminate();
  });

  it("the server reads nothing for a follower that is closing its connection, however slowly it closes", {
    timeout: 60_000,
  }, async () => {
    const { job } = await runJob(client, shell("yes 'a line that is as long as many' | head -c 60000000"));
    const upgrade = head(`GET /api/logs/follow/?team_name=main&job_id=${job.id}`, {
      authorization: `token ${await server.token()}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": 13,
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    });
    const before = await metric("millrace_log_read_bytes_total");
    const { socket } = await openRaw(server.url, upgrade, { allowHalfOpen: true });
    await once(socket, "data");
    socket.pause();
    // A close frame, masked with zeros; its own end of the connection stays open.
    socket.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
    await metric("millrace_log_followers");
    socket.resume();
    while ((await metric("millrace_log_followers")) > 0) await sleep(10);
    const read = (await metric("millrace_log_read_bytes_total")) - before;
    assert.ok(read > 0 && read < 30_000_000, `${read} bytes were read`);
    socket.destroy();
  });

  it("a log that became shorter than what was sent neither hangs its followers nor repeats an id", async () => {
    const gate = join(folder, "cut");
    const script = `seq 1 1000; while [ ! -e ${gate} ]; do sleep 0.05; done; echo after`;
    const job = await createJob(client, shell(script));
    const socket = await connect(job.id);
    let last = 0;
    socket.on("message", (data: Buffer) => {
      for (const { id } of (JSON.parse(data.toString()) as Frame).logs ?? []) {
        assert.ok(id > last, "ids only grow");
        last = id;
      }
    });
    const ended = receive(socket);
    while (last < 3889) await once(socket, "message");
    await truncate(join(server.dataDir, "jobs", `${job.id}.1`, "log"), 100);
    await writeFile(gate, "");
    assert.deepEqual((await ended).status, "COMPLETE");
  });

  it("an answer with bytes is aborted when the log is truncated, instead of waiting", async () => {
    const { job } = await runJob(client, shell(":"));
    const path = join(server.dataDir, "jobs", `${job.id}.1`, "log");
    const file = await open(path, "w");
    await file.truncate(400_000_000);
    // A limit, so that a server that keeps its reader waiting fails here.
    const fence = { signal: AbortSignal.timeout(30_000) };
    const response = await server.fetch(`/api/datachain/jobs/${job.id}/logs`, fence);
    await file.truncate(0);
    await file.close();
    await assert.rejects(response.arrayBuffer(), (error: Error) => error.name !== "TimeoutError");
  });
});

describe("the frames of a log", () => {
  const text = Array.from({ length: 50_000 }, (_, i) => `line ${i}\n`).join("");
  const bytes = Buffer.from(text);

  const large = Buffer.from("0123456789abcde\n".repeat(160_000));

  function counted() {
    const count = { bytes: 0, reads: 0 };
    const read = async (offset: number, length: number) => {
      const part = bytes.subarray(offset, offset + length);
      count.bytes += part.length;
      count.reads++;
      return part;
    };
    return { frames: new LogFrames({ read }), count };
  }

  const readAll = async (frames: LogFrames, from: number) => {
    let read = "";
    for (let offset = from; ; ) {
      const frame = await frames.at(offset, true);
      if (!frame) return read;
      for (const { message } of (JSON.parse(frame.text.toString()) as Frame).logs ?? []) read += message;
      offset = frame.next;
    }
  };

  it("are the same bytes from any start, and followers that started elsewhere soon share them", async () => {
    const { frames, count } = counted();
    const starts = [0, 7, 14, 1000, 33_000];
    const all = await Promise.all(starts.map((start) => readAll(frames, start)));
    for (const [index, start] of starts.entries()) assert.equal(all[index], bytes.toString("utf8", start));
    assert.ok(count.bytes < bytes.length + starts.length * 128 * 1024, `${count.bytes} bytes read`);
  });

  it("of many logs are cached within one limit for all, and not for a log without followers", async () => {
    const kept = new KeptFrames();
    const logs = [...Array(40)].map(
      () => new LogFrames({ read: async (offset, length) => large.subarray(offset, offset + length) }, kept),
    );
    for (const log of logs) await readAll(log, 0);
    assert.ok(kept.bytes > 0 && kept.bytes <= 64 * 1024 * 1024, `${kept.bytes} bytes`);
    for (const log of logs) log.forget();
    assert.equal(kept.bytes, 0);
  });

  it("of an empty stretch are read again only when the log has changed", async () => {
    const { frames, count } = counted();
    const { length } = bytes;
    await frames.at(length, false);
    const { reads } = count;
    for (let i = 0; i < 10; i++) assert.equal(await frames.at(length, false), undefined);
    assert.equal(count.reads, reads);
    frames.lookAgain();
    await frames.at(length, false);
    assert.ok(count.reads > reads);
  });
});
