/** `zip://` and `tar://`: files in archives that other storages hold. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { after, before, describe, it } from "node:test";
import { createZstdCompress, zstdCompressSync } from "node:zlib";
import { fromStorage, openStorage, registerScheme } from "@millrace/storage";
import { type ArchiveKind, whyNoPython, writeArchive } from "@millrace/testing/objects/archives.ts";
import { open as openMemory } from "../../src/schemes/memory/open.ts";
import { memoryScheme } from "../../src/schemes/memory/scheme.ts";
import { parseHeader } from "../../src/schemes/zip/header.ts";
import { conformance, pathsOf, rejectsWith } from "../conformance.ts";

const skip = await whyNoPython();
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-archives-"));
});
after(() => rm(folder, { recursive: true, force: true }));

let made = 0;
const newPath = (kind: string) => {
  made += 1;
  return join(folder, `${made}.${kind}`);
};

/** Creates an archive, and opens it. */
async function archiveOf(kind: ArchiveKind, members: Parameters<typeof writeArchive>[2]) {
  const path = newPath(kind);
  await writeArchive(kind, path, members);
  return openStorage(`${kind.startsWith("zip") ? "zip" : "tar"}://::file://${path}`);
}

for (const kind of ["zip", "tar"] as const) {
  let path: string;
  conformance(
    `${kind}://`,
    {
      capabilities: openStorage(`${kind}://::file:///x`).capabilities,
      // Archives use a backslash as a slash.
      refusedKeys: ["a key with a backslash"],
      async open() {
        path ??= newPath(kind);
        await writeArchive(kind, path, [["first", "1"]], "a");
        return openStorage(`${kind}://::file://${path}`);
      },
      put: (key, bytes) => writeArchive(kind, path, [[key, bytes]], "a"),
    },
    skip,
  );
}

describe("archives", { skip, timeout: 120_000 }, () => {
  const hostile = [
    ["good/a", "good"],
    ["../above", "no"],
    ["in/../../above", "no"],
    ["/etc/absolute", "absolute"],
    ["back\\slashed", "slashed"],
    ["back\\..\\..\\above", "no"],
    ["C:/drive", "no"],
    ["./dotted//twice", "dotted"],
    ["good/a", "the later one"],
  ] as const;

  for (const kind of ["zip", "tar", "tgz"] as const) {
    it(`of kind ${kind} list hostile names by their safe meaning, or omit them`, async () => {
      const storage = await archiveOf(kind, hostile);
      const expected = ["back/slashed", "dotted/twice", "etc/absolute", "good/a"];
      assert.deepEqual(await pathsOf(storage.list({ recursive: true })), expected);
      assert.equal(await storage.readText("good/a"), "the later one");
      assert.equal(await storage.readText("etc/absolute"), "absolute");
      for (const path of ["../above", "above", "C:/drive"]) await rejectsWith("not_found", storage.read(path));
      await storage.close();
    });
  }

  it("can be opened at an inner path, and searched by patterns", async () => {
    const path = newPath("zip");
    await writeArchive("zip", path, [
      ["in/a.csv", "one"],
      ["in/b.csv", "two"],
      ["c.txt", "3"],
    ]);
    assert.equal(await openStorage(`zip://in/a.csv::file://${path}`).readText(""), "one");
    assert.equal(await openStorage(`zip://in::${path}`).readText("b.csv"), "two");
    assert.equal(await openStorage("zip://in/b.csv", { fo: path }).readText(""), "two");
    const files = fromStorage(`zip://**/*.csv::file://${path}`);
    assert.deepEqual(await Array.fromAsync(files, (file) => file.readText()), ["one", "two"]);
    await files.close();
  });

  it("can be in any storage and in other archives, with parameters under the name of the scheme", async () => {
    const [inner, outer] = [newPath("zip"), newPath("tar")];
    await writeArchive("zip", inner, [["deep", "in two"]]);
    await writeArchive("tar", outer, [["folder/inner.zip", await readFile(inner)]]);
    const memory = openStorage("memory://archives");
    await memory.upload(outer, "outer.tar");
    const uri = "zip://deep::tar://folder/inner.zip::memory://archives/outer.tar";
    assert.equal(await openStorage(uri).readText(""), "in two");
    assert.throws(
      () => openStorage("zip://x::s3://b/a.zip", { key: "k" }),
      /key is not a parameter of zip:\/\/.*\{"s3": /,
    );
    const [shown] = openStorage("zip://x::s3://b/a.zip", { s3: { anon: true } }).explainConfig();
    assert.deepEqual([shown?.key, shown?.value], ["s3", "********"]);
    assert.throws(() => openStorage("zip://x::s3://b/a.zip", { s3: { anno: true } }), /did you mean anon/);
    assert.throws(() => openStorage("zip://x"), /expected zip:\/\/path\/in\/archive::URI/);
  });

  it("are read by ranges: neither other files nor the rest of one are downloaded", async () => {
    const path = newPath("zip");
    const [first, second] = [randomBytes(3_000_000), randomBytes(3_000_000)];
    let fetched = 0;
    registerScheme({
      ...memoryScheme,
      names: ["counted"],
      load: async () => ({
        open: () => {
          const backend = openMemory();
          return {
            ...backend,
            async read(key, call) {
              const content = await backend.read(key, call);
              fetched += content.end - content.start;
              return content;
            },
          };
        },
      }),
    });
    for (const kind of ["zip", "zip-stored", "tar"] as const) {
      await writeArchive(kind, path, [
        ["first", first],
        ["second", second],
      ]);
      await openStorage("memory://counted").upload(path, "archive");
      fetched = 0;
      const storage = openStorage(`${kind.slice(0, 3)}://::counted://counted/archive`);
      assert.equal((await Array.fromAsync(storage.list())).length, 2);
      assert.ok(fetched < 600_000, `${kind}: ${fetched} bytes for a listing`);
      const part = await storage.read("second", { start: 1000, end: 2000 });
      assert.ok(second.subarray(1000, 2000).equals(part));
      // A deflated file must be read from its start; memory returns a range at once.
      assert.ok(fetched < (kind === "zip" ? 3_700_000 : 700_000), `${kind}: ${fetched} bytes for a part`);
    }
  });

  it("are read again when they were replaced", async () => {
    const path = newPath("zip");
    await writeArchive("zip", path, [["a", "old"]]);
    const storage = openStorage(`zip://::file://${path}`);
    assert.equal(await storage.readText("a"), "old");
    await rm(path);
    await writeArchive("zip", path, [
      ["a", "replaced"],
      ["b", "new"],
    ]);
    assert.deepEqual(await pathsOf(storage.list()), ["a", "b"]);
    assert.equal(await storage.readText("a"), "replaced");
    await rm(path);
    await writeArchive("zip", path, [["a", "once more, and longer"]]);
    await rejectsWith("precondition", storage.read("a"));
    assert.equal(await storage.readText("a"), "once more, and longer");
    await storage.close();
  });

  it("that are missing or invalid are an error", async () => {
    await rejectsWith("not_found", pathsOf(openStorage(`zip://::file://${folder}/none.zip`).list()));
    const path = newPath("txt");
    await writeFile(path, "no archive at all ".repeat(100));
    for (const kind of ["zip", "tar"]) await rejectsWith("failed", pathsOf(openStorage(`${kind}://::${path}`).list()));
    await writeFile(path, "");
    await rejectsWith("failed", pathsOf(openStorage(`zip://::${path}`).list()));
  });
});

/** The directory of an archive with one file, changed at an offset of its header. */
async function spoiledZip(kind: ArchiveKind, content: string | number, change: (header: Buffer, all: Buffer) => void) {
  const path = newPath("zip");
  await writeArchive(kind, path, [["a", content]]);
  const bytes = await readFile(path);
  change(bytes.subarray(bytes.indexOf(Buffer.from("PK\x01\x02", "latin1"))), bytes);
  await writeFile(path, bytes);
  return openStorage(`zip://::${path}`);
}

describe("zip://", { skip, timeout: 120_000 }, () => {
  it("refuses an encrypted file by its name, and unsupported compressions", async () => {
    const encrypted = await spoiledZip("zip", "secret", (header) => header.writeUInt16LE(1, 8));
    assert.deepEqual(await pathsOf(encrypted.list()), ["a"]);
    await assert.rejects(encrypted.read("a"), /zip:\/\/a::.*: the file is encrypted/);
    const storage = await archiveOf("zip-lzma", [["a", "content"]]);
    await assert.rejects(storage.read("a"), /compressed with method 14, .* fsspec\+zip:\/\//);
  });

  it("notices content that is damaged or longer than its directory says", async () => {
    const damaged = await spoiledZip("zip-stored", "content", (_, all) => all.write("C", all.indexOf("content")));
    await assert.rejects(damaged.read("a"), /the checksum of a does not match its content/);
    const torn = await spoiledZip("zip", 100_000, (_, all) => all.fill(0xff, 40, 60));
    await rejectsWith("failed", torn.read("a"));
    const bomb = await spoiledZip("zip", 50_000_000, (header) => header.writeUInt32LE(10, 24));
    await assert.rejects(bomb.read("a"), /larger than the 10 bytes/);
  });

  it("unpacks no more than the reader takes", async () => {
    const storage = await archiveOf("zip", [["zeros", 200_000_000]]);
    let count = 0;
    for await (const piece of storage.readStream("zeros")) {
      count += piece.length;
      assert.ok(piece.length <= 64 * 1024, `a piece of ${piece.length} bytes`);
      if (count > 1_000_000) break;
    }
    assert.equal((await storage.stat("zeros")).size, 200_000_000);
    assert.ok(Buffer.alloc(5).equals(await storage.read("zeros", { start: 150_000_000, end: 150_000_005 })));
  });

  it("reads ZIP64 archives: more than 65,535 files, and sizes in extra fields", async () => {
    const many = await archiveOf(
      "zip-stored",
      Array.from({ length: 66_000 }, (_, index) => [`f/${index}`, "x"] as const),
    );
    let count = 0;
    for await (const _ of many.list({ recursive: true })) count += 1;
    assert.equal(count, 66_000);
    assert.equal(await many.readText("f/65999"), "x");
    assert.equal(await (await archiveOf("zip-64", [["a", "large"]])).readText("a"), "large");
    const header = Buffer.alloc(46 + 1 + 28);
    header.writeUInt32LE(0x02014b50, 0);
    for (const at of [20, 24, 42]) header.writeUInt32LE(0xffff_ffff, at);
    header.writeUInt16LE(1, 28);
    header.writeUInt16LE(28, 30);
    header.write("a", 46);
    header.writeUInt16LE(1, 47);
    header.writeUInt16LE(24, 49);
    for (const [index, number] of [6e9, 5e9, 7e9].entries()) header.writeBigUInt64LE(BigInt(number), 51 + 8 * index);
    const { member } = parseHeader(header, 0);
    assert.deepEqual([member.size, member.compressedSize, member.headerStart], [6e9, 5e9, 7e9]);
  });

  it("reads an archive behind a program, and one with a comment", async () => {
    const path = newPath("zip");
    await writeArchive("zip", path, [["a", "inside"]]);
    const archive = await readFile(path);
    archive.writeUInt16LE(30, archive.length - 2);
    await writeFile(path, Buffer.concat([Buffer.from("#!/bin/sh\nexit\n"), archive, Buffer.alloc(30, "PK\x05\x06")]));
    assert.equal(await openStorage(`zip://a::${path}`).readText(""), "inside");
  });
});

describe("tar://", { skip, timeout: 120_000 }, () => {
  const long = `${"folder/".repeat(30)}file`;

  it("accepts names of any length and numbers of both formats, and omits links", async () => {
    for (const kind of ["tar", "tar-gnu", "tgz"] as const) {
      const storage = await archiveOf(kind, [
        [long, "long"],
        ["ü", "umlaut"],
        ["link", "->"],
        ["last", "last"],
      ]);
      assert.deepEqual(await pathsOf(storage.list({ recursive: true })), [long, "last", "ü"]);
      assert.equal(await storage.readText(long), "long");
      assert.equal(await storage.readText("last", { start: 1, end: 3 }), "as");
    }
  });

  it("reads gzip and zstd whatever the archive's name, and names the alternative for other compressions", async () => {
    const path = newPath("tar");
    await writeArchive("tar", path, [
      ["big", 3_000_000],
      ["a", "compressed"],
    ]);
    await writeFile(path, zstdCompressSync(await readFile(path)));
    assert.equal(await openStorage(`tar://a::${path}`).readText(""), "compressed");
    assert.equal(
      await (
        await archiveOf("tgz", [
          ["big", 3_000_000],
          ["a", "zipped"],
        ])
      ).readText("a"),
      "zipped",
    );
    await assert.rejects(pathsOf((await archiveOf("tbz", [["a", "1"]])).list()), /with bzip2, .* fsspec\+tar:\/\//);
  });

  it("notices a truncated archive", async () => {
    const path = newPath("tar");
    await writeArchive("tar", path, [["a", 100_000]]);
    await writeFile(path, (await readFile(path)).subarray(0, 50_000));
    await rejectsWith("failed", openStorage(`tar://a::${path}`).read(""));
    await writeArchive("tgz", path, [["a", randomBytes(100_000)]]);
    await writeFile(path, (await readFile(path)).subarray(0, 50_000));
    await rejectsWith("failed", openStorage(`tar://a::${path}`).read(""));
  });

  it("refuses more files, or longer names, than the limit of a ZIP directory", async () => {
    const length = 1024 * 1024;
    const count = 257;
    const path = newPath("tar");
    const members = Array.from({ length: count }, (_, index) => index);
    const archive = function* () {
      for (const index of members) yield* [tarBlock("L", length), Buffer.alloc(length, `${index}-`), tarBlock("0", 0)];
    };
    await pipeline(archive, createZstdCompress(), createWriteStream(path));
    await assert.rejects(openStorage(`tar://::${path}`).stat("a"), /list of files exceeds the limit/);
    members.length = 3;
    await pipeline(archive, createZstdCompress(), createWriteStream(path));
    assert.equal((await pathsOf(openStorage(`tar://::${path}`).list())).length, 3);
  });

  it("refuses more than 1 MiB of extended headers before a file, in one or in many", async () => {
    const remark = (name: string, length: number) => `${length} ${name}=`.padEnd(length - 1, "x").concat("\n");
    const archiveWith = async (count: number) => {
      const headers = Array.from({ length: count }, (_, index) => [
        tarBlock("x", 16_384),
        Buffer.from(remark(`name-${index}`, 16_384)),
      ]);
      const path = newPath("tar");
      await writeFile(path, Buffer.concat([...headers.flat(), tarBlock("0", 0), tarBlock("x", 0), tarBlock("0", 0)]));
      return openStorage(`tar://::${path}`);
    };
    assert.deepEqual(await pathsOf((await archiveWith(64)).list()), ["name"]);
    await assert.rejects(
      pathsOf((await archiveWith(65)).list()),
      /the extended attributes before byte \d+ exceed the limit of 1048576 bytes/,
    );
  });
});

/** Builds a header of a tar archive. */
function tarBlock(type: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write("name");
  block.write(size.toString(8).padStart(11, "0"), 124);
  block.write("        ", 148);
  block.write(type, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0`, 148);
  return block;
}
