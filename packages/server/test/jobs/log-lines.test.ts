/** Lines of logs over HTTP: windows, counting, search. Logs are in the data folder, or archived at a storage URI. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type LogLines, type RouteInput, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { WebSocket } from "ws";
import { blobPlaces, type PlacedBlobs } from "../support/blob-places.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

type LinesQuery = RouteInput<typeof routes.getLogLines>["query"];
type SearchQuery = RouteInput<typeof routes.searchLog>["query"];

for (const place of blobPlaces) {
  describe(`lines of logs, with blobs in ${place.name}`, { skip: place.skip }, () => {
    let blobs: PlacedBlobs;
    let server: InProcessServer;
    let client: Client;
    const lines = (job_id: string, query: LinesQuery = {}) =>
      client.call(routes.getLogLines, { params: { job_id }, query });
    const search = (job_id: string, query: SearchQuery) => client.call(routes.searchLog, { params: { job_id }, query });
    const texts = (answer: LogLines) => answer.lines.map(({ text }) => text);
    before(async () => {
      blobs = await place.open();
      server = await startInProcess(blobs.settings);
      client = await server.client();
    });
    after(async () => {
      await server.dispose();
      await blobs.stop();
    });

    it("are read by number and from the end", async () => {
      const { job } = await runJob(client, shell("seq 1 50000; printf 'no end'"));
      let answer = await lines(job.id, { limit: 3 });
      assert.deepEqual(texts(answer), ["49999", "50000", "no end"]);
      answer = await lines(job.id, { first_line: 40_000, limit: 2 });
      assert.deepEqual(
        [answer.first, answer.total, answer.complete, texts(answer)],
        [40_000, 50_001, true, ["40000", "40001"]],
      );
      const [line] = answer.lines;
      assert.equal(line?.offset, 9 * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 30_000 * 6);
      assert.deepEqual(texts(await lines(job.id, { first_line: 60_000 })), []);
      assert.deepEqual(texts(await lines(job.id, { first_line: 1, limit: 0 })), []);
      assert.equal((await lines(job.id, { first_line: 1, limit: 1000 })).lines.length, 1000);
    });

    it("are masked, and those of all attempts are one log", async () => {
      const input = shell("echo $SECRET_KEY; exit 1", {
        environment: "SECRET_KEY=very-secret-value",
        retries: 1,
        retry_delay: 0,
      });
      const { job } = await runJob(client, input);
      const answer = await lines(job.id, { first_line: 1 });
      assert.equal(texts(answer).filter((text) => text === "*".repeat(17)).length, 2);
      assert.match(texts(answer).join("\n"), /Attempt 1 failed/);
      assert.deepEqual(texts(await lines(job.id, { attempt: 2, first_line: 1 })), ["*".repeat(17)]);
      assert.deepEqual((await search(job.id, { text: "very-secret" })).hits, []);
    });

    it("are found by text, by pattern and as errors, page by page", async () => {
      const { job } = await runJob(
        client,
        shell("seq 1 3000; printf '\\033[31mERROR\\033[0m: bad\\n10%%\\r20%%\\r\\n'; echo KeyError: 1; echo 0 errors"),
      );
      const first = await search(job.id, { text: "77", limit: 2 });
      assert.deepEqual(
        first.hits.map(({ text }) => text),
        ["77", "177"],
      );
      const second = await search(job.id, { text: "77", limit: 2, first_line: first.next ?? 0 });
      assert.deepEqual(
        second.hits.map(({ line }) => line),
        [277, 377],
      );
      const hits = async (query: SearchQuery) => (await search(job.id, query)).hits.map(({ line }) => line);
      assert.deepEqual(await hits({ text: "error: BAD" }), [3001]);
      assert.deepEqual(await hits({ text: "error: BAD", match_case: true }), []);
      assert.deepEqual(await hits({ kind: "regex", text: "^2[89]99$" }), [2899, 2999]);
      assert.deepEqual(await hits({ text: "10%" }), []);
      assert.deepEqual(await hits({ kind: "errors" }), [3001, 3003]);
      assert.deepEqual(await hits({ kind: "errors", first_line: 3002, limit: 1 }), [3003]);
      await assert.rejects(
        search(job.id, { kind: "regex", text: "(a" }),
        /not a valid regular expression: a \( has no \)/,
      );
      await assert.rejects(search(job.id, { kind: "literal" }), /expected the text to find/);
    });

    it("answer at their end before they are counted; every request counts on", { timeout: 120_000 }, async () => {
      const job = await createJob(client, shell("seq -w 1 6000000"));
      await waitForEnd(client, job.id, 100);
      const last = await lines(job.id, { limit: 1 });
      assert.deepEqual(texts(last), ["6000000"]);
      let counted = last;
      while (counted.total === null) {
        const more = await lines(job.id, { first_line: 5_000_000, limit: 1 });
        assert.ok(more.counted > counted.counted);
        counted = more;
      }
      assert.equal(counted.total, 6_000_000);
      assert.deepEqual(texts(counted), ["5000000"]);
    });

    it("an expensive pattern neither holds the server nor lasts", { timeout: 60_000 }, async () => {
      const { job } = await runJob(
        client,
        shell("for i in $(seq 400); do head -c 9000 /dev/urandom | base64 -w0; echo; done"),
      );
      let isOver = false;
      const searching = search(job.id, { kind: "regex", text: "A.{40}B.{40}C.{40}D.{40}!" }).finally(() => {
        isOver = true;
      });
      let answered = 0;
      for (; !isOver; answered++) await server.fetch("/healthz", { token: null });
      await searching;
      assert.ok(answered > 3, `${answered} other requests were answered meanwhile`);
    });

    it("the sizes of a growing log are sent to a viewer that follows, then the end", async () => {
      const job = await createJob(client, shell("echo 1; sleep 0.5; echo 2"));
      const frames = await follow(server, job.id);
      const sizes = frames.flatMap((frame) => (frame.size === undefined ? [] : [frame.size]));
      assert.deepEqual(
        sizes.filter((size) => size > 0),
        [2, 4],
      );
      assert.equal(frames.at(-1)?.job?.status, "COMPLETE");
      assert.ok(frames.every((frame) => !("logs" in frame)));
    });
  });
}

interface Frame {
  readonly size?: number;
  readonly job?: { readonly status: string };
}

async function follow(server: InProcessServer, id: string): Promise<Frame[]> {
  const headers = { authorization: `Bearer ${await server.token()}` };
  const socket = new WebSocket(
    `${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${id}&team_name=main&sizes=true`,
    {
      headers,
    },
  );
  const frames: Frame[] = [];
  socket.on("message", (data) => frames.push(JSON.parse(String(data)) as Frame));
  await new Promise((resolve, reject) => socket.on("close", resolve).on("error", reject));
  return frames;
}
