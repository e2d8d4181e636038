/** Conformance suite for blobs, run on every implementation. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { BlobMissing, type Blobs, BlobTooLong } from "../../src/blobs/blobs.ts";

export interface BlobsFixture {
  readonly blobs: Blobs;
  /** Opens the same blobs again, like a server that is started again after a kill. */
  again(): Promise<Blobs>;
  stop(): Promise<void>;
}

const text = (value: string) => bytes([Buffer.from(value)]);

async function* bytes(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function contentOf(blobs: Blobs, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await blobs.open(name)).stream() as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function names(blobs: Blobs, folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of blobs.list(folder)) found.push(name);
  return found.sort();
}

export function describeBlobs(place: string, make: () => Promise<BlobsFixture>, skip: false | string = false): void {
  describe(`blobs in ${place}`, { skip }, () => {
    let fixture: BlobsFixture;
    let blobs: Blobs;
    before(async () => {
      fixture = await make();
      blobs = fixture.blobs;
    });
    after(() => fixture?.stop());

    it("are read back unchanged, with their size and digest", async () => {
      const content = Buffer.alloc(300_000, "0123456789");
      const pieces = [content.subarray(0, 7), content.subarray(7, 200_000), content.subarray(200_000)];
      const measured = await blobs.put("files/aa/put", bytes(pieces));
      assert.deepEqual(measured, { size: 300_000, sha256: createHash("sha256").update(content).digest("hex") });
      assert.equal(await contentOf(blobs, "files/aa/put"), content.toString());
      assert.equal(await blobs.size("files/aa/put"), 300_000);
    });

    it("may be empty", async () => {
      assert.equal((await blobs.put("files/aa/empty", bytes([]))).size, 0);
      assert.equal(await contentOf(blobs, "files/aa/empty"), "");
      const opened = await blobs.open("files/aa/empty");
      assert.deepEqual([opened.size, (await opened.read(0, 10)).length], [0, 0]);
      await opened.close();
    });

    it("are read in ranges; a range beyond the end is empty", async () => {
      await blobs.put("files/aa/ranges", text("0123456789"));
      const opened = await blobs.open("files/aa/ranges");
      const range = async (offset: number, length: number) => (await opened.read(offset, length)).toString();
      assert.equal(opened.size, 10);
      assert.deepEqual(
        [await range(0, 3), await range(8, 100), await range(3, 4), await range(10, 1), await range(50, 5)],
        ["012", "89", "3456", "", ""],
      );
      await opened.close();
    });

    it("can be overwritten: the last write counts", async () => {
      for (const value of ["one", "two, longer", "3"]) await blobs.put("files/aa/again", text(value));
      assert.equal(await contentOf(blobs, "files/aa/again"), "3");
    });

    it("written concurrently under one name end as one of them, complete", async () => {
      const values = ["a", "b", "c", "d"].map((letter) => letter.repeat(50_000));
      await Promise.all(values.map((value) => blobs.put("files/aa/race", text(value))));
      assert.ok(values.includes(await contentOf(blobs, "files/aa/race")));
    });

    it("become visible only when they are complete", async () => {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let begun = () => {};
      const beginning = new Promise<void>((resolve) => {
        begun = resolve;
      });
      async function* slowly() {
        yield Buffer.from("first");
        begun();
        await held;
        yield Buffer.from(" and last");
      }
      const putting = blobs.put("files/bb/slow", slowly());
      await beginning;
      assert.equal(await blobs.size("files/bb/slow"), undefined);
      assert.deepEqual(await names(blobs, "files/bb/"), []);
      await assert.rejects(blobs.open("files/bb/slow"), BlobMissing);
      release();
      await putting;
      assert.equal(await contentOf(blobs, "files/bb/slow"), "first and last");
    });

    it("are not stored if their content fails: the old blob stays, and the caller gets the original error", async () => {
      await blobs.put("files/aa/kept", text("before"));
      const failure = new Error("the sender went away");
      async function* breaking() {
        yield Buffer.alloc(100_000);
        throw failure;
      }
      await assert.rejects(blobs.put("files/aa/kept", breaking()), (error) => error === failure);
      await assert.rejects(blobs.put("files/cc/never", breaking()), (error) => error === failure);
      assert.equal(await contentOf(blobs, "files/aa/kept"), "before");
      assert.equal(await blobs.size("files/cc/never"), undefined);
    });

    it("are refused beyond their size limit and stored up to it", async () => {
      await assert.rejects(blobs.put("files/cc/long", text("12345"), { limit: 4 }), BlobTooLong);
      assert.equal(await blobs.size("files/cc/long"), undefined);
      assert.equal((await blobs.put("files/cc/long", text("1234"), { limit: 4 })).size, 4);
    });

    it("can be created from a file that a callback writes; nothing is stored if the callback fails", async () => {
      const taken = await blobs.make("exports/one/0", (path) => writeFile(path, "rows"));
      assert.ok(taken >= 4);
      assert.equal(await contentOf(blobs, "exports/one/0"), "rows");
      const half = async (path: string) => {
        await writeFile(path, "half");
        throw new Error("out of rows");
      };
      await assert.rejects(blobs.make("exports/one/1", half), /out of rows/);
      assert.deepEqual(await names(blobs, "exports/one/"), ["exports/one/0"]);
    });

    it("that do not exist are reported as missing, and removing them is no error", async () => {
      assert.equal(await blobs.size("files/aa/absent"), undefined);
      await assert.rejects(blobs.open("files/aa/absent"), BlobMissing);
      await assert.rejects(blobs.fetch("files/aa/absent"), BlobMissing);
      await blobs.remove("files/aa/absent");
      await blobs.put("files/aa/gone", text("x"));
      await blobs.remove("files/aa/gone");
      assert.equal(await blobs.size("files/aa/gone"), undefined);
    });

    it("are listed by folder, with sizes and times", async () => {
      const before = Date.now();
      for (const name of ["exports/aa/1", "exports/aa/2", "exports/ab/1"]) await blobs.put(name, text(name));
      assert.deepEqual(
        (await names(blobs, "exports/")).filter((name) => name.startsWith("exports/a")),
        ["exports/aa/1", "exports/aa/2", "exports/ab/1"],
      );
      assert.deepEqual(await names(blobs, "exports/aa/"), ["exports/aa/1", "exports/aa/2"]);
      assert.deepEqual(await names(blobs, "nothing/"), []);
      // A store may record whole seconds.
      for await (const { size, modifiedAt } of blobs.list("exports/aa/")) {
        assert.equal(size, 12);
        assert.ok(modifiedAt >= before - 2000, `${modifiedAt} is before ${before}`);
      }
    });

    it("are downloaded as world-readable files", async () => {
      await blobs.put("files/aa/fetched", text("for a job"));
      const [path, same] = await Promise.all([blobs.fetch("files/aa/fetched"), blobs.fetch("files/aa/fetched")]);
      assert.equal(path, same);
      assert.equal(await readFile(path, "utf8"), "for a job");
      assert.equal((await stat(path)).mode & 0o777, 0o444);
    });

    it("that somebody removes during a read are read to their end or fail, never truncated", async () => {
      await blobs.put("files/aa/removed", text("x".repeat(100_000)));
      const opened = await blobs.open("files/aa/removed");
      await blobs.remove("files/aa/removed");
      const read = await opened.read(0, 100_000).catch((error: unknown) => error);
      assert.ok(read instanceof BlobMissing || (read as Buffer).length === 100_000);
      await opened.close();
    });

    it("refuse names that lead out of their folder", async () => {
      const hostile = [
        ...["", "/", "a", "files", "files/", "files//a", "/files/a", "files/../secret.key", "files/a/../../x"],
        ...["files/.", "files/..", "files/.hidden", "files/a\0b", "files/a b", "files/ä", "files/a\n", "files/a\\b"],
        ...["files/a.part", "FILES/a", "files/a/b/c/d", `files/${"a".repeat(101)}`, "files/%2e%2e/a", "files/-a"],
      ];
      for (const name of hostile) {
        const refused = /is not a valid blob name/;
        await assert.rejects(blobs.put(name, text("x")), refused, name);
        await assert.rejects(
          blobs.make(name, async () => {}),
          refused,
          name,
        );
        await assert.rejects(async () => blobs.open(name), refused, name);
        await assert.rejects(async () => blobs.size(name), refused, name);
        await assert.rejects(async () => blobs.remove(name), refused, name);
        await assert.rejects(async () => blobs.fetch(name), refused, name);
      }
      for (const folder of ["", "/", "files", "files/../", "../", "files/./"])
        await assert.rejects(names(blobs, folder), /is not a valid blob folder/, folder);
    });

    it("survive the process that wrote them; remains of an interrupted write are removed", async () => {
      await blobs.put("files/aa/outlives", text("still here"));
      let begun = () => {};
      const beginning = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const abandoned = blobs.make("exports/two/0", async (path) => {
        await writeFile(path, "cut short");
        begun();
        await new Promise(() => {});
      });
      void abandoned;
      await beginning;
      const other = await fixture.again();
      const later = Date.now() + 60_000;
      await other.tidy({ leftBefore: later, unusedSince: later });
      assert.deepEqual(await names(other, "exports/two/"), []);
      assert.equal(await contentOf(other, "files/aa/outlives"), "still here");
      assert.equal(await readFile(await other.fetch("files/aa/outlives"), "utf8"), "still here");
      await other.close();
    });

    it("are streamed to a slow reader without buffering the whole content", async () => {
      await blobs.put("files/aa/stream", text("y".repeat(500_000)));
      const stream = (await blobs.open("files/aa/stream")).stream();
      await once(stream, "readable");
      stream.destroy();
      await once(stream, "close");
    });
  });
}

export async function temporaryFolder(name: string): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), `millrace-${name}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
