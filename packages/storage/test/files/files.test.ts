/** Listings as records, and what can be done with a listed file. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { lstat, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  type ExportProgress,
  fromStorage,
  isStorageError,
  ListingCache,
  openStorage,
  type StorageFile,
  type ToStorageOptions,
  toStorage,
} from "@millrace/storage";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { pathsOf, rejectsWith } from "../conformance.ts";
import { startRecordingServer } from "../support/recording-server.ts";

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-storage-files-"));
});
after(() => rm(root, { recursive: true, force: true }));

const newFolder = () => mkdtemp(join(root, "place-"));

let places = 0;
/** A new location in memory with these files, each containing its own name. */
async function placeWith(...paths: string[]): Promise<string> {
  places += 1;
  const uri = `memory://files-${places}`;
  for (const path of paths) await openStorage(uri).write(path, path);
  return uri;
}

const found = async (files: AsyncIterable<StorageFile>) => (await Array.fromAsync(files, ({ path }) => path)).sort();

describe("fromStorage", () => {
  it("returns a record of every file", async () => {
    const folder = await newFolder();
    await openStorage(folder).write("a/b.txt", "12345");
    const [file] = await Array.fromAsync(fromStorage(`file://${folder}/`));
    const { mtime } = await stat(join(folder, "a/b.txt"));
    const { source, path, size, version, etag, is_latest, last_modified, location } = file as StorageFile;
    assert.deepEqual(
      { source, path, size, version, is_latest, last_modified, location },
      {
        source: `file://${folder}`,
        path: "a/b.txt",
        size: 5,
        version: "",
        is_latest: true,
        last_modified: mtime,
        location: null,
      },
    );
    assert.notEqual(etag, "");
    assert.equal(file?.uri, `file://${folder}/a/b.txt`);
  });

  it("accepts a folder, recursively or one level, and a file", async () => {
    const uri = await placeWith("x/a", "x/b/c", "xy");
    assert.deepEqual(await found(fromStorage(`${uri}/x/`)), ["a", "b/c"]);
    assert.deepEqual(
      await found(fromStorage(`${uri}/x`)),
      ["x/a", "x/b/c"],
      "without a slash its parent is the source",
    );
    assert.deepEqual(await found(fromStorage(`${uri}/x/`, { recursive: false })), ["a"]);
    assert.deepEqual(await found(fromStorage(`${uri}/xy`)), ["xy"]);
  });

  it("accepts patterns and many URIs, each file once", async () => {
    const uri = await placeWith("1/a.csv", "1/b.txt", "2/a.csv", "2/deep/a.csv", "10/a.csv");
    assert.deepEqual(await found(fromStorage(`${uri}/*/a.csv`)), ["1/a.csv", "10/a.csv", "2/a.csv"]);
    assert.deepEqual(await found(fromStorage(`${uri}/**/*.csv`)), ["1/a.csv", "10/a.csv", "2/a.csv", "2/deep/a.csv"]);
    const odd = await placeWith("a[1].txt", "a1.txt");
    assert.deepEqual(await found(fromStorage(`${odd}/a\\[1\\].txt`)), ["a[1].txt"], "a backslash makes it plain");
    const both = [`${uri}/*/a.csv`, `${uri}/?/a.csv`];
    assert.deepEqual(await found(fromStorage(both)), ["1/a.csv", "10/a.csv", "2/a.csv"]);
    assert.deepEqual(await found(fromStorage(`${uri}/*/none`)), [], "a pattern may match nothing");
  });

  it("expands braces first", async () => {
    const uri = await placeWith("1/a", "2/a", "3/b");
    assert.deepEqual(await found(fromStorage(`${uri}/{1..2}/a`)), ["a", "a"]);
    const both = await Array.fromAsync(fromStorage(`{${uri}/1/a,${uri}/3/b}`), (file) => file.uri);
    assert.deepEqual(both, [`${uri}/1/a`, `${uri}/3/b`]);
  });

  it("refuses braces that expand to too many patterns, before expanding them", () => {
    for (const braces of ["{1..1000000000}", "{1..200}/{1..200}", "{0..9}".repeat(9), "{1..99999999999999999999}"]) {
      assert.throws(() => fromStorage(`memory://x/${braces}`), {
        code: "invalid",
        message: /the braces expand to \S+ patterns, more than the limit of 10000; split the pattern$/,
      });
    }
  });

  it("refuses a pattern as a bucket, and a wrong client_config, at once", () => {
    assert.throws(() => fromStorage("s3://buck*/a"), { code: "config", message: /the bucket cannot be a pattern/ });
    // @ts-expect-error a misspelt parameter does not compile
    assert.throws(() => fromStorage("s3://bucket/a", { client_config: { kee: "x" } }), { code: "config" });
  });

  it("reports not_found for a URI that is neither file nor folder", async () => {
    const uri = await placeWith("a");
    await rejectsWith("not_found", found(fromStorage(`${uri}/none`)));
    await rejectsWith("not_found", found(fromStorage(`${uri}/none/`)));
    await rejectsWith("not_found", found(fromStorage(`${root}/none`)));
  });

  it("accepts a file of a web server, which has no listings", async () => {
    const server = await startRecordingServer((_request, response) => {
      response.writeHead(200, { etag: '"e"', "content-length": 2 }).end("ok");
    });
    const files = fromStorage(`${server.url}/some/file?signature=a*b`);
    const [file] = await Array.fromAsync(files);
    assert.deepEqual([file?.source, file?.path, await file?.readText()], [server.url, "some/file", "ok"]);
    assert.deepEqual([...new Set(server.requests.map(({ query }) => query.get("signature")))], ["a*b"]);
    await files.close();
    await server.stop();
  });
});

describe("a listing cache", () => {
  it("serves the same folder and its subfolders, until it is refreshed", async () => {
    const uri = await placeWith("a/b/1", "a/c/2");
    const listing_cache = new ListingCache();
    const list = (path: string, options = {}) => found(fromStorage(`${uri}/${path}`, { listing_cache, ...options }));
    assert.deepEqual(await list("a/"), ["b/1", "c/2"]);
    await openStorage(uri).write("a/b/new", "1");
    assert.deepEqual(await list("a/"), ["b/1", "c/2"]);
    assert.deepEqual(await list("a/", { recursive: false }), []);
    assert.deepEqual(await list("a/*/*"), ["b/1", "c/2"]);
    assert.deepEqual(await list("a/", { update: true }), ["b/1", "b/new", "c/2"]);
    assert.deepEqual(await list("a/"), ["b/1", "b/new", "c/2"]);
  });

  it("expires, and keeps sources apart", () => {
    let now = 0;
    const cache = new ListingCache({ seconds: 60, now: () => now });
    const entry = { path: "a/b", size: 1, etag: "", version: "", is_latest: true, last_modified: null, type: "file" };
    cache.keep("s3://one", "a/", [entry as never]);
    assert.equal(cache.find("s3://one", "a/b")?.length, 1, "what lies within is known");
    assert.equal(cache.find("s3://one", "a/c")?.length, 0);
    assert.equal(cache.find("s3://one", ""), undefined);
    assert.equal(cache.find("s3://two", "a/"), undefined);
    now = 61_000;
    assert.equal(cache.find("s3://one", "a/"), undefined);
  });
});

describe("a file of a listing", () => {
  it("is read whole, in part, as text, as a stream and at random", async () => {
    const uri = await placeWith("file");
    const [file] = await Array.fromAsync(fromStorage(`${uri}/file`));
    assert.ok(file);
    assert.equal(Buffer.from(await file.read()).toString(), "file");
    assert.equal(Buffer.from(await file.read({ start: 1, end: 3 })).toString(), "il");
    assert.equal(await file.readText(), "file");
    assert.equal(Buffer.concat(await Array.fromAsync(file.readStream())).toString(), "file");
    const opened = await file.open({ cache_type: "first" });
    assert.equal(Buffer.from(await opened.read(2, 9)).toString(), "le");
  });

  it("is exported by itself", async () => {
    const uri = await placeWith("deep/file.txt");
    const [file] = await Array.fromAsync(fromStorage(`${uri}/deep/file.txt`));
    const folder = await newFolder();
    assert.equal(await file?.export(folder, { placement: "filename" }), "file.txt");
    assert.equal(await readFile(join(folder, "file.txt"), "utf8"), "deep/file.txt");
  });

  it("that was replaced since is an error, not other bytes", async () => {
    const uri = await placeWith("file");
    const [file] = await Array.fromAsync(fromStorage(`${uri}/file`));
    await openStorage(uri).write("file", "other");
    for (const read of [file?.read(), file?.readText(), file?.open()]) {
      await rejectsWith("precondition", read as Promise<unknown>);
    }
  });
});

describe("toStorage", () => {
  async function exported(
    uri: string | string[],
    options: ToStorageOptions = {},
  ): Promise<{ paths: string[]; folder: string }> {
    const folder = await newFolder();
    await toStorage(fromStorage(uri), folder, options);
    return { paths: await pathsOf(openStorage(folder).list({ recursive: true })), folder };
  }

  it("places files by name, by path, and by source and path", async () => {
    const uri = await placeWith("a/one.txt", "b/two.txt");
    const place = uri.slice("memory://".length);
    assert.deepEqual((await exported(`${uri}/`, { placement: "filename" })).paths, ["one.txt", "two.txt"]);
    const { paths, folder } = await exported(`${uri}/`, { placement: "filepath" });
    assert.deepEqual(paths, ["a/one.txt", "b/two.txt"]);
    assert.equal(await readFile(join(folder, "a/one.txt"), "utf8"), "a/one.txt");
    assert.deepEqual((await exported(`${uri}/`)).paths, [`${place}/a/one.txt`, `${place}/b/two.txt`]);
  });

  it("places files by their ETag or by a digest of their content, with the suffix", async () => {
    const uri = await placeWith("a/one.txt", "b/.hidden");
    const digest = (name: string, text: string) => createHash(name).update(text).digest("hex");
    const names = (algorithm: string) => [`${digest(algorithm, "a/one.txt")}.txt`, digest(algorithm, "b/.hidden")];
    assert.deepEqual((await exported(`${uri}/`, { placement: "etag" })).paths, names("md5").sort());
    assert.deepEqual((await exported(`${uri}/`, { placement: "checksum" })).paths, names("sha256").sort());
    const md5 = await exported(`${uri}/`, { placement: "checksum", checksum: "md5" });
    assert.deepEqual(md5.paths, names("md5").sort());
  });

  it("writes the same content once if the content names the target", async () => {
    const uri = await placeWith();
    for (const path of ["a.txt", "b.txt"]) await openStorage(uri).write(path, "same");
    assert.equal((await exported(`${uri}/`, { placement: "checksum" })).paths.length, 1);
  });

  it("refuses two files for one target, before anything is written", async () => {
    const uri = await placeWith("a/x", "b/x", "c/y");
    const folder = await newFolder();
    await assert.rejects(
      toStorage(fromStorage(`${uri}/`), folder, { placement: "filename" }),
      /would both be written to x;/,
    );
    assert.deepEqual(await readdir(folder), []);
  });

  it("refuses paths that lead elsewhere, before anything is written", async () => {
    for (const path of ["../up", "a/./b", "a/..", "."]) {
      const uri = await placeWith("fine", path);
      const folder = await newFolder();
      await rejectsWith("invalid", toStorage(fromStorage(`${uri}/`), folder));
      assert.deepEqual(await readdir(folder), []);
    }
    const [file] = await Array.fromAsync(fromStorage(`${await placeWith("a")}/a`));
    for (const path of ["", "a/"]) {
      const odd = Object.create(file as StorageFile, { path: { value: path } }) as StorageFile;
      await rejectsWith("invalid", toStorage([odd], await newFolder()));
    }
  });

  it("links instead of copying, from file to file", async () => {
    const source = await newFolder();
    await writeFile(join(source, "a"), "1");
    const symbolic = await exported(`${source}/`, { placement: "filepath", link_type: "symlink" });
    assert.equal(await readlink(join(symbolic.folder, "a")), join(source, "a"));
    const hard = await exported(`${source}/`, { placement: "filepath", link_type: "hardlink" });
    assert.equal((await stat(join(hard.folder, "a"))).ino, (await stat(join(source, "a"))).ino);
    await toStorage(fromStorage(`${source}/`), hard.folder, { placement: "filepath", link_type: "hardlink" });
    assert.deepEqual(await readdir(hard.folder), ["a"], "once more leaves nothing beside it");
  });

  it("copies if a link is not possible", async () => {
    const uri = await placeWith("a");
    const { folder } = await exported(`${uri}/`, { placement: "filepath", link_type: "symlink" });
    assert.ok((await lstat(join(folder, "a"))).isFile());
    const files = fromStorage(`${folder}/`);
    const [told] = await toStorage(files, "memory://linked", { placement: "filepath", link_type: "symlink" });
    assert.deepEqual([told?.how, await openStorage("memory://linked").readText("a")], ["copy", "a"]);
  });

  it("refuses unknown options and lists the known ones, before anything is written", async () => {
    const files = fromStorage(`${await placeWith("a")}/`);
    const folder = await newFolder();
    const refused = (options: object, message: RegExp) =>
      assert.rejects(
        toStorage(files, folder, options),
        (error) => isStorageError(error, "invalid") && message.test(error.message),
      );
    await refused({ placement: "bogus" }, /^placement: expected one of filename, .*, checksum, got "bogus"$/);
    await refused({ placement: null }, /^placement: .* got null$/);
    await refused({ link_type: "softlink" }, /^link_type: expected one of copy, symlink, hardlink, got "softlink"/);
    await refused({ checksum: "sha257" }, /^checksum: .*; did you mean sha256\?$/);
    assert.deepEqual(await readdir(folder), []);
  });

  it("reports progress and the total", async () => {
    const uri = await placeWith("a", "bb", "ccc");
    const events: ExportProgress[] = [];
    await exported(`${uri}/`, { onProgress: (event) => events.push(event), concurrency: 2 });
    const { path: _, ...last } = events.at(-1) as ExportProgress;
    assert.deepEqual(last, { done_files: 3, total_files: 3, done_bytes: 6, total_bytes: 6 });
    assert.ok(events.every(({ done_bytes }, index) => done_bytes >= (events[index - 1]?.done_bytes ?? 0)));
  });

  it("accepts a file of unknown size, which cannot be opened for random access", async () => {
    const server = await startRecordingServer((_request, response) => {
      response.writeHead(200, { etag: '"e"', "transfer-encoding": "chunked" });
      response.end("streamed");
    });
    const files = fromStorage(`${server.url}/file`);
    const folder = await newFolder();
    await toStorage(files, folder, { placement: "filename" });
    assert.equal(await readFile(join(folder, "file"), "utf8"), "streamed");
    const [file] = await Array.fromAsync(files);
    await rejectsWith("unsupported", file?.open() as Promise<unknown>);
    await files.close();
    await server.stop();
  });

  it("stops at a signal, with its reason", async () => {
    const uri = await placeWith("a");
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(toStorage(fromStorage(`${uri}/`), await newFolder(), { signal }), /enough/);
  });
});

const skip = await whyNoVersitygw();
describe("files of s3://", { skip, timeout: 60_000 }, () => {
  let server: S3Server;
  before(async () => {
    server = await startVersitygw();
  });
  after(() => server?.stop());

  it("have their versions if the storage is version-aware, only the latest unless all are requested", async () => {
    const bucket = await server.makeBucket("versions", { versioned: true });
    const client_config = { ...server.config, version_aware: true };
    const storage = openStorage(`s3://${bucket}`, client_config);
    for (const text of ["old", "new"]) await storage.write("a.txt", text);
    const read = async (uri: string, options = {}) => {
      const files = fromStorage(uri, { client_config, ...options });
      const texts = await Array.fromAsync(files, async (file) => [file.version !== "", await file.readText()] as const);
      await files.close();
      return texts.toSorted(([, a], [, b]) => a.localeCompare(b));
    };
    assert.deepEqual(await read(`s3://${bucket}`), [[true, "new"]]);
    assert.deepEqual(await read(`s3://${bucket}/*.txt`), [[true, "new"]]);
    const both = [
      [true, "new"],
      [true, "old"],
    ];
    assert.deepEqual(await read(`s3://${bucket}`, { versions: true }), both);
    await storage.close();
  });

  it("are exported from bucket to bucket", async () => {
    const [from, to] = [await server.makeBucket("source"), await server.makeBucket("target")];
    const client_config = server.config;
    const source = openStorage(`s3://${from}`, client_config);
    for (const path of ["x/1", "x/2"]) await source.write(path, path);
    const files = fromStorage(`s3://${from}/x`, { client_config });
    await toStorage(files, `s3://${to}/copy`, { client_config });
    const target = openStorage(`s3://${to}`, client_config);
    assert.deepEqual(await pathsOf(target.list({ recursive: true })), ["copy/source/x/1", "copy/source/x/2"]);
    for (const opened of [source, files, target]) await opened.close();
  });
});
