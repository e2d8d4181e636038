/** Packed virtualenvs as blobs: in the data folder and in a bucket. */
import assert from "node:assert/strict";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { type Blobs, BlobTooLong } from "../../src/blobs/blobs.ts";
import { openBlobs } from "../../src/blobs/open-blobs.ts";
import { Packs, PacksFull } from "../../src/blobs/packs.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";
import { blobPlaces } from "../support/blob-places.ts";
import { blobsIn } from "../support/folder-blobs.ts";
import { temporaryFolder } from "./blobs-conformance.ts";

const day = 86_400_000;
const id = (letter: string, rest: { team?: number; person?: number } = {}) => ({
  ...{ team: 1, person: null, environment: letter.repeat(40) },
  ...rest,
});
const bytes = (content: string) => Readable.from([Buffer.from(content)]);

for (const place of blobPlaces)
  describe(`packs in ${place.name}`, { skip: place.skip }, () => {
    let blobs: Blobs;
    let stop: () => Promise<void>;
    before(async () => {
      const folder = await temporaryFolder("packs");
      const placed = await place.open();
      blobs = await openBlobs(new DataFolder(folder.path).blobs(readConfig({}, placed.settings)));
      stop = async () => {
        await blobs.close();
        await placed.stop();
        await folder.remove();
      };
    });
    after(() => stop());

    const opened = () => new Packs(blobs, 100, Date.now);
    const read = async (packs: Packs, of: ReturnType<typeof id>) => {
      const pack = await packs.open(of);
      return pack && text(pack.stream());
    };
    async function names(): Promise<string[]> {
      const found: string[] = [];
      for await (const { name } of blobs.list("packs/")) found.push(name);
      return found;
    }

    it("are stored once, and found by their team, person and key only", async () => {
      const packs = opened();
      assert.equal(await read(packs, id("a")), undefined);
      assert.equal(await packs.store(id("a"), bytes("first"), 50), true);
      assert.equal(await packs.store(id("a"), bytes("second"), 50), false);
      assert.equal(await read(packs, id("a")), "first");
      for (const other of [id("b"), id("a", { team: 2 }), id("a", { person: 1 })])
        assert.equal(await read(packs, other), undefined);
    });

    it("have a limit, alone and together", async () => {
      const packs = opened();
      await assert.rejects(packs.store(id("b"), bytes("x".repeat(51)), 50), BlobTooLong);
      await assert.rejects(packs.store(id("b"), bytes("x".repeat(101)), 200), BlobTooLong);
      assert.equal(await packs.store(id("b"), bytes("x".repeat(100)), 200), true);
      await assert.rejects(packs.store(id("c"), bytes("x"), 50), PacksFull);
      await packs.removeOld(0);
      assert.equal(await packs.store(id("c"), bytes("x"), 50), true, "old ones were removed");
    });

    it("have a limit together, also if they arrive at the same time", async () => {
      const packs = opened();
      await packs.removeOld(Date.now() + day);
      const letters = [..."defghijklm"];
      const pieces = () => Readable.from(Array.from({ length: 8 }, () => Buffer.from("x".repeat(10))));
      const stored = await Promise.allSettled(letters.map((letter) => packs.store(id(letter), pieces(), 200)));
      const isThere = await Promise.all(letters.map((letter) => read(packs, id(letter))));
      for (const [index, result] of stored.entries()) {
        assert.equal(isThere[index] !== undefined, result.status === "fulfilled");
        if (result.status === "rejected") assert.ok(result.reason instanceof PacksFull, String(result.reason));
      }
      const total = isThere.reduce((sum, content) => sum + (content?.length ?? 0), 0);
      assert.ok(total <= 100 + 10 * letters.length, `${total} bytes: what arrives counts, up to a piece of each`);
      await packs.removeOld(Date.now() + day);
      assert.equal(await packs.store(id("c"), bytes("x"), 50), true, "what was refused no longer counts");
    });

    it("are removed with the note of their last use", async () => {
      const packs = opened();
      assert.equal(await read(packs, id("c")), "x");
      assert.ok((await names()).some((name) => name.endsWith(".used")));
      await packs.removeOld(Date.now() + day);
      assert.deepEqual(await names(), []);
      assert.equal(await read(packs, id("c")), undefined);
    });
  });

describe("old packs", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let packs: Packs;
  let now = Date.now();
  before(async () => {
    folder = await temporaryFolder("packs");
    packs = new Packs(blobsIn(folder.path), 100, () => now);
  });
  after(() => folder.remove());

  const team = () => join(folder.path, "packs/team-1/all");
  /** Letters of the packs that exist. */
  const left = () =>
    readdirSync(team())
      .filter((name) => !name.endsWith(".used"))
      .map((name) => name[0])
      .join("");
  const age = (name: string, days: number) =>
    utimesSync(join(team(), name), new Date(now - days * day), new Date(now - days * day));
  async function stored(letter: string, days: number, size = 10): Promise<void> {
    await packs.store(id(letter), bytes("x".repeat(size)), 1000);
    age(letter.repeat(40), days);
  }

  it("are removed after days without use: a use counts", async () => {
    for (const letter of ["a", "b", "c"]) await stored(letter, 8);
    await stored("d", 6);
    await (await packs.open(id("b")))?.close();
    await (await packs.open(id("c")))?.close();
    age(`${"c".repeat(40)}.used`, 8);
    await packs.removeOld(now - 7 * day);
    assert.equal(left(), "bd");
    assert.ok(!readdirSync(team()).includes(`${"c".repeat(40)}.used`));
  });

  it("note a later use again", async () => {
    age(`${"b".repeat(40)}.used`, 8);
    await (await packs.open(id("b")))?.close();
    assert.ok(readdirSync(team()).length === 3);
    now += day;
    await (await packs.open(id("b")))?.close();
    await packs.removeOld(now - 7 * day);
    assert.equal(left(), "bd");
  });

  it("are removed if all together are too large, those used longest ago first", async () => {
    await stored("e", 1, 40);
    await stored("f", 2, 40);
    await stored("g", 3, 40);
    await packs.removeOld(0);
    assert.equal(left(), "bef");
  });
});
