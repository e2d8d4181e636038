/** A storage that accepts requests and never answers: every call ends, and works again once the storage answers. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openStorage } from "@millrace/storage";
import { type Blobs, BlobsUnavailable } from "../../src/blobs/blobs.ts";
import { UriBlobs } from "../../src/blobs/uri-blobs.ts";
import { type S3Blobs, startS3Blobs, whyNoVersitygw } from "../support/s3-blobs.ts";
import { temporaryFolder } from "./blobs-conformance.ts";

const name = "files/one";
const content = Buffer.alloc(100_000, "x");

async function* pieces(pauseMs = 0): AsyncGenerator<Uint8Array> {
  for (const part of [content.subarray(0, 50_000), content.subarray(50_000)]) {
    await sleep(pauseMs);
    yield part;
  }
}

describe("blobs whose storage hangs", { skip: await whyNoVersitygw() }, () => {
  let s3: S3Blobs;
  let blobs: Blobs;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  before(async () => {
    s3 = await startS3Blobs();
    folder = await temporaryFolder("hanging");
    const { MILLRACE_BLOBS: uri = "", ...environment } = s3.settings;
    const storage = openStorage(uri, undefined, { environment });
    const files = { copies: `${folder.path}/copies`, mark: `${folder.path}/mark` };
    blobs = new UriBlobs(storage, files, { answerMs: 4000, partMs: 4000 });
    await blobs.put(name, pieces());
  });
  after(async () => {
    await blobs.close();
    await s3.stop();
    await folder.remove();
  });

  const pid = () => s3.s3.pid ?? 0;
  const goOn = () => process.kill(pid(), "SIGCONT");
  /** Returns when all threads of the storage have stopped. */
  const hang = async () => {
    process.kill(pid(), "SIGSTOP");
    const states = async () => {
      const threads = await readdir(`/proc/${pid()}/task`);
      const stats = threads.map((thread) => readFile(`/proc/${pid()}/task/${thread}/stat`, "utf8"));
      return (await Promise.all(stats)).map((stat) => / ([A-Za-z]) /.exec(stat.slice(stat.lastIndexOf(")")))?.[1]);
    };
    while ((await states()).some((state) => state !== "T")) await sleep(5);
  };
  const collect = async (parts: AsyncIterable<unknown>) => (await Array.fromAsync(parts)).length;

  const calls: Record<string, () => Promise<unknown>> = {
    "opening one": () => blobs.open(name),
    "asking for its size": () => blobs.size(name),
    "storing one": () => blobs.put("files/two", pieces()),
    "deleting one": () => blobs.remove("files/none"),
    "listing them": () => collect(blobs.list("files/")),
  };
  for (const [what, call] of Object.entries(calls))
    it(`${what} fails after a while, and works once the storage answers`, async () => {
      await hang();
      try {
        await assert.rejects(call(), (error: unknown) => {
          assert.ok(error instanceof BlobsUnavailable, String(error));
          assert.match(error.message, /did not answer within 4 seconds/);
          return true;
        });
      } finally {
        goOn();
      }
      await call();
    });

  it("reading an open one fails after a while, piece by piece and as a stream", async () => {
    const opened = [await blobs.open(name), await blobs.open(name)] as const;
    await hang();
    try {
      await assert.rejects(opened[0].read(0, 10), BlobsUnavailable);
      await assert.rejects(collect(opened[1].stream()), BlobsUnavailable);
    } finally {
      goOn();
      await opened[0].close();
    }
  });

  it("contents that arrive slowly are in files, not in memory, and the storage is not asked for them", async () => {
    const rest = Promise.withResolvers<void>();
    async function* slowly() {
      for (let part = 0; part < 80; part++) yield content;
      await rest.promise;
    }
    const under = ["files/a", "files/b"].map((each) => blobs.put(each, slowly()));
    const drafts = async () => {
      const names = (await readdir(`${folder.path}/copies`)).filter((each) => each.endsWith(".part"));
      return Promise.all(names.map(async (each) => (await stat(`${folder.path}/copies/${each}`)).size));
    };
    const all = 80 * content.length;
    while ((await drafts()).filter((size) => size === all).length < 2) await sleep(10);
    rest.resolve();
    assert.deepEqual(
      (await Promise.all(under)).map(({ size }) => size),
      [all, all],
    );
    assert.deepEqual(await drafts(), []);
  });

  it("a caller that uploads more slowly than the limit is waited for", async () => {
    assert.equal((await blobs.put("files/slow", pieces(2500))).size, content.length);
  });
});
