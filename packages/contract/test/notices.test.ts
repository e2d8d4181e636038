/** Notices of the live stream: what they outdate, and how the stream is read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Notice, noticeKinds, outdatedRoutes, type Route, readNotices, routes } from "../src/index.ts";

const all = Object.values(routes) as Route[];

describe("a kind of notice", () => {
  for (const kind of noticeKinds)
    it(`${kind} outdates only routes that exist and that read`, () => {
      for (const id of outdatedRoutes(kind, all)) assert.equal(all.find((route) => route.id === id)?.method, "GET", id);
    });

  it("exists for every list and page of a team, so that no page keeps an old answer", () => {
    /** Followers of a log have its socket. */
    const others = ["Logs", "Live"];
    const outdated = new Set(noticeKinds.flatMap((kind) => outdatedRoutes(kind, all)));
    const missing = all
      .filter(({ method, access, id }) => method === "GET" && access.kind === "token" && !outdated.has(id))
      .filter(({ tag }) => !others.includes(tag))
      .map(({ id }) => id);
    assert.deepEqual(missing, [], "add their tag, or the routes themselves, to a kind in live.ts");
  });
});

describe("the live stream", () => {
  const streamOf = (...pieces: string[]) => new Response(new Blob(pieces)).body as ReadableStream<Uint8Array>;
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const seen: (Notice | undefined)[] = [];
    for await (const notice of readNotices(stream)) seen.push(notice);
    return seen;
  };

  it("is read event by event, wherever its pieces end", async () => {
    const text = ': following\n\ndata: {"changed":[{"kind":"jobs","ids":["é"]}]}\n\n: beat\n\ndata: {"all":true}\n\n';
    const expected = [undefined, { changed: [{ kind: "jobs", ids: ["é"] }] }, undefined, { all: true }];
    assert.deepEqual(await read(streamOf(text)), expected);
    const bytes = new TextEncoder().encode(text);
    const single = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    assert.deepEqual(await read(single), expected);
  });

  it("leaves out an event that was cut off", async () => {
    assert.deepEqual(await read(streamOf('data: {"all":true}\n\ndata: {"all"')), [{ all: true }]);
  });
});
