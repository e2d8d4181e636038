/** Following a job over the WebSocket. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type LogPiece, routes } from "@millrace/contract";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { WebSocket } from "ws";
import { blobPlaces, type PlacedBlobs } from "../support/blob-places.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { head, openRaw } from "../support/raw-http.ts";

type Frame = { logs?: LogPiece[]; job?: { status: string }; message?: string };

for (const place of blobPlaces)
  describe(`the log socket, with logs in ${place.name}`, { skip: place.skip }, () => {
    let blobs: PlacedBlobs;
    let server: InProcessServer;
    let client: Client;
    before(async () => {
      blobs = await place.open();
      server = await startInProcess(blobs.settings);
      client = await server.client();
    });
    after(async () => {
      await server.dispose();
      await blobs.stop();
    });

    const open = async (search: string, token?: string) =>
      new WebSocket(`${server.url.replace("http", "ws")}/api/logs/follow/?team_name=main&${search}`, {
        headers: { authorization: `token ${token ?? (await server.token())}` },
      });

    /** Collects every frame until the server closes. */
    const follow = async (search: string) => {
      const socket = await open(search);
      const frames: Frame[] = [];
      let largest = 0;
      socket.on("message", (data: Buffer) => {
        largest = Math.max(largest, data.length);
        frames.push(JSON.parse(data.toString()) as Frame);
      });
      await new Promise((resolve, reject) => socket.on("close", resolve).on("error", reject));
      const pieces = frames.flatMap((frame) => frame.logs ?? []);
      return {
        frames,
        pieces,
        text: pieces.map((p) => p.message).join(""),
        statuses: frames.flatMap((f) => f.job?.status ?? []),
        largest,
      };
    };

    it("sends every piece once, then the final status, then closes", async () => {
      const job = await createJob(client, shell("for i in 1 2 3; do echo $i; sleep 0.1; done; printf end"));
      const { text, statuses, frames, pieces } = await follow(`job_id=${job.id}`);
      assert.equal(text, "1\n2\n3\nend");
      assert.deepEqual(
        pieces.map((p) => p.id),
        [1, 3, 5, 7],
      );
      assert.equal(statuses.at(-1), "COMPLETE");
      assert.equal(frames.at(-1)?.job?.status, "COMPLETE");
      assert.equal(new Set(statuses).size, statuses.length);
    });

    it("answers pings, and ends a connection that sends too many", async () => {
      const job = await createJob(client, shell("sleep 60"));
      const socket = await open(`job_id=${job.id}`);
      let pongs = 0;
      socket.on("pong", () => pongs++);
      await new Promise((resolve) => socket.once("open", resolve));
      const closed = new Promise((resolve) => socket.once("close", resolve).on("error", () => {}));
      for (let i = 0; i < 20; i++) socket.ping();
      while (pongs < 20) await new Promise((resolve) => setTimeout(resolve, 5));
      for (let i = 0; i < 2000; i++) socket.ping();
      await closed;
      assert.ok(pongs <= 200, `${pongs} pongs`);
      await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    });

    it("ends a connection that sends a message in many fragments, in many pieces, or a large one", {
      timeout: 60_000,
    }, async () => {
      const job = await createJob(client, shell("sleep 60"));
      const headers = {
        connection: "Upgrade",
        upgrade: "websocket",
        authorization: `Bearer ${await server.token()}`,
        "sec-websocket-version": 13,
        "sec-websocket-key": Buffer.alloc(16).toString("base64"),
      };
      /** Masked with zeros; clients must mask everything that they send. */
      const frame = (code: number, length: number) =>
        Buffer.concat([Buffer.of(code, 0x80 | 126, length >> 8, length & 255), Buffer.alloc(4 + length)]);
      const ping = Buffer.of(0x89, 0x80, 0, 0, 0, 0);
      const whole = frame(0x81, 1000);
      const messages = {
        fragments: [Buffer.concat([frame(0x01, 1), ...Array.from({ length: 4 }, () => frame(0x00, 1))])],
        pieces: [...Array.from({ length: 200 }, (_, at) => whole.subarray(at, at + 1)), whole.subarray(200)],
        large: [frame(0x81, 1025)],
      };
      for (const [what, pieces] of Object.entries(messages)) {
        const raw = await openRaw(server.url, head(`GET /api/logs/follow/?team_name=main&job_id=${job.id}`, headers));
        raw.socket.setNoDelay(true);
        await raw.until(/101 Switching/);
        for (const piece of [...pieces, ping]) {
          raw.socket.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        const then = await raw.until(/\x8a/).then(
          () => "the ping was answered",
          () => "closed",
        );
        assert.equal(then, "closed", what);
      }
      await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    });

    it("sends one kind per frame", async () => {
      const { job } = await runJob(client, shell("echo 1"));
      for (const frame of (await follow(`job_id=${job.id}`)).frames) assert.equal(Object.keys(frame).length, 1);
    });

    it("replays a finished job from the start, or from an offset", async () => {
      const { job } = await runJob(client, shell("echo a; echo b; echo c"));
      assert.equal((await follow(`job_id=${job.id}`)).text, "a\nb\nc\n");
      assert.equal((await follow(`job_id=${job.id}&after=2`)).text, "b\nc\n");
    });

    it("sends statuses only with no_follow", async () => {
      const { job } = await runJob(client, shell("echo quiet"));
      const { pieces, statuses } = await follow(`job_id=${job.id}&no_follow=true`);
      assert.deepEqual([pieces.length, statuses], [0, ["COMPLETE"]]);
    });

    it("carries invalid UTF-8, NUL bytes, a long line and many lines in frames below 1 MiB", async () => {
      const script =
        "import sys\nw=sys.stdout.buffer.write\nw(b'\\xff\\x00\\n')\nw(b'x'*5000000+b'\\n')\nfor i in range(100000): w(b'%d\\n'%i)\nw(b'\\x01'*2000000)\n";
      const { job } = await runJob(client, python(script));
      const { text, largest } = await follow(`job_id=${job.id}`);
      const lines = [...Array(100_000).keys()].map((i) => `${i}\n`).join("");
      assert.ok(
        text === `\ufffd\0\n${"x".repeat(5_000_000)}\n${lines}${"\u0001".repeat(2_000_000)}`,
        "every byte arrived",
      );
      assert.ok(largest < 1024 * 1024, `the largest frame has ${largest} bytes`);
    });

    it("answers an unknown job with a message, because clients retry after any error but 401 and 403", async () => {
      for (const id of ["01900000-0000-7000-8000-000000000000", "nonsense", ""]) {
        const { frames } = await follow(`job_id=${id}`);
        assert.match(frames[0]?.message ?? "", /There is no job/);
      }
    });

    it("ends it with a final status, because clients before 0.59 do not read the message and retry for minutes", async () => {
      const { frames } = await follow("job_id=01900000-0000-7000-8000-000000000000");
      assert.deepEqual(frames.slice(1), [{ job: { id: "01900000-0000-7000-8000-000000000000", status: "FAILED" } }]);
    });

    it("refuses an invalid token with 401 and another team with 403", async () => {
      const status = async (socket: WebSocket) =>
        new Promise((resolve) =>
          socket.on("unexpected-response", (_request, response) => resolve(response.statusCode)).on("error", () => {}),
        );
      assert.equal(await status(await open("job_id=x", "isat_wrong")), 401);
      assert.equal(await status(await open("job_id=x&team_name=elsewhere")), 403);
    });

    describe("requested in an invalid way", { timeout: 60_000 }, () => {
      const upgrade = async (headers: Record<string, string>) =>
        head("GET /api/logs/follow/?team_name=main&job_id=x", {
          connection: "Upgrade",
          upgrade: "websocket",
          authorization: `Bearer ${await server.token()}`,
          ...headers,
        });
      const good = { "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==" };

      it("is refused in the standard error format, whatever is wrong", async () => {
        const { "sec-websocket-version": version, "sec-websocket-key": key } = good;
        for (const headers of [
          { "sec-websocket-version": version },
          { "sec-websocket-key": key },
          { ...good, "sec-websocket-key": "short" },
          { ...good, "sec-websocket-protocol": "," },
        ]) {
          const answer = await (await openRaw(server.url, await upgrade(headers as Record<string, string>))).closed();
          assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*content-type: application\/json/i, JSON.stringify(headers));
          const { code, message, detail } = JSON.parse(answer.split("\r\n\r\n")[1] ?? "") as Record<string, string>;
          assert.deepEqual([code, detail], ["bad_request", message]);
        }
      });

      it("answers earlier requests of the connection, and refuses one that did not wait for them", async () => {
        const before = head("GET /api/whoami", { authorization: `Bearer ${await server.token()}` });
        const answers = await (await openRaw(server.url, `${before.repeat(5)}${await upgrade(good)}`)).closed();
        assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g), ["200", "200", "200", "200", "200", "400"]);
        assert.match(answers, /"username":"admin"[\s\S]*before earlier requests on the same connection were answered/);
        const alone = await openRaw(server.url, await upgrade(good));
        assert.match(await alone.until(/\r\n\r\n/), /^HTTP\/1\.1 101 /);
        alone.socket.destroy();
      });
    });

    it("reports the final state of a task at once", async () => {
      const task = await createJob(client, shell("true", { start_after: "2040-01-01T00:00:00Z" }));
      assert.deepEqual((await follow(`job_id=${task.id}`)).statuses, ["TASK"]);
      await client.call(routes.cancelJob, { params: { job_id: task.id }, body: {} });
    });
  });
