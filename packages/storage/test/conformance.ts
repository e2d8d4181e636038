/**
 * Conformance suite for every storage scheme. Capabilities select the rules that apply; the caller lists what a server
 * gets wrong although its scheme supports it, so that nothing is skipped silently.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  type Capabilities,
  type Entry,
  type ErrorCode,
  isStorageError,
  openStorage,
  type Storage,
} from "@millrace/storage";
import { type OddKey, oddKeys } from "./support/odd-keys.ts";

export interface Subject {
  readonly capabilities: Capabilities;
  /** Keys that this server cannot store although others of its scheme can: when it learns to, the suite fails. */
  readonly refusedKeys?: readonly (keyof typeof oddKeys)[];
  /** The server refuses to overwrite an object even if the expected ETag matches. */
  readonly neverMatches?: true;
  /** Opens an empty location for one test. */
  open(): Promise<Storage>;
  /** Puts an object there in another way, for read-only schemes. */
  put?(path: string, bytes: Uint8Array): Promise<void>;
}

export function conformance(name: string, subject: Subject, skip: false | string = false): void {
  describe(`${name} like every storage`, { skip, timeout: 240_000 }, () => {
    let storage: Storage;
    before(async () => {
      storage = await subject.open();
    });
    after(() => storage?.close());

    const put = async (path: string, content: string | Uint8Array) => {
      if (subject.capabilities.write) await storage.write(path, content);
      else await subject.put?.(path, Buffer.from(content));
    };
    const scope = { subject, put, storage: () => storage };
    readingRules(scope);
    downloadRules(scope);
    if (subject.capabilities.write) writingRules(scope);
    if (subject.capabilities.write) uploadRules(scope);
    if (subject.capabilities.write && subject.capabilities.list) changingRules(scope);
    if (subject.capabilities.list) listingRules(scope);
    if (subject.capabilities.list) patternRules(scope);
    keyRules(scope);
    if (subject.capabilities.writeConditions) conditionRules(scope);
    refusalRules(scope);
  });
}

interface Scope {
  readonly subject: Subject;
  readonly storage: () => Storage;
  put(path: string, content: string | Uint8Array): Promise<void>;
}

export const pathsOf = async (entries: AsyncIterable<Entry>): Promise<string[]> =>
  (await Array.fromAsync(entries, (entry) => entry.path)).sort();

export const rejectsWith = (code: ErrorCode, promise: Promise<unknown>) =>
  assert.rejects(promise, (error) => isStorageError(error, code) || assert.fail(`not ${code}: ${error}`));

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

const collect = async (stream: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(stream));

function readingRules({ storage, put }: Scope): void {
  it("reads back the bytes that were written", async () => {
    const bytes = randomBytes(100_000);
    await put("reading/bytes", bytes);
    assert.ok(bytes.equals(await storage().read("reading/bytes")));
  });

  it("reads text as UTF-8", async () => {
    await put("reading/text", "grüße 🌊");
    assert.equal(await storage().readText("reading/text"), "grüße 🌊");
  });

  it("reads an empty object", async () => {
    await put("reading/empty", "");
    assert.equal((await storage().read("reading/empty")).length, 0);
    assert.equal((await storage().read("reading/empty", { concurrency: 4 })).length, 0);
    assert.equal((await collect(storage().readStream("reading/empty"))).length, 0);
  });

  it("reads a range, whose end is exclusive", async () => {
    await put("reading/range", "0123456789");
    assert.equal(text(await storage().read("reading/range", { start: 2, end: 5 })), "234");
    assert.equal(text(await storage().read("reading/range", { start: 7 })), "789");
    assert.equal(text(await storage().read("reading/range", { end: 1 })), "0");
    assert.equal(text(await collect(storage().readStream("reading/range", { start: 2, end: 5 }))), "234");
  });

  it("cuts a range at the end of the object, and returns nothing beyond it", async () => {
    await put("reading/short", "0123456789");
    assert.equal(text(await storage().read("reading/short", { start: 8, end: 100 })), "89");
    assert.equal(text(await storage().read("reading/short", { start: 10 })), "");
    assert.equal(text(await storage().read("reading/short", { start: 50, end: 60 })), "");
    assert.equal(text(await storage().read("reading/short", { start: 4, end: 4 })), "");
  });

  it("refuses an invalid range", async () => {
    await put("reading/refused", "0123456789");
    await rejectsWith("invalid", storage().read("reading/refused", { start: 5, end: 2 }));
    await rejectsWith("invalid", storage().read("reading/refused", { start: -1 }));
  });

  it("reads the same with many parallel ranges as with one", async () => {
    const bytes = randomBytes(1_000_003);
    await put("reading/parallel", bytes);
    const options = { concurrency: 5, blockSize: 100_000 };
    assert.ok(bytes.equals(await storage().read("reading/parallel", options)));
    assert.ok(bytes.equals(await collect(storage().readStream("reading/parallel", options))));
    const part = { ...options, start: 150_001, end: 777_777 };
    assert.ok(bytes.subarray(150_001, 777_777).equals(await storage().read("reading/parallel", part)));
  });

  it("stops reading a stream that is abandoned early", async () => {
    await put("reading/left", randomBytes(1_000_000));
    for await (const piece of storage().readStream("reading/left")) {
      assert.ok(piece.length > 0);
      break;
    }
    assert.equal((await storage().read("reading/left", { end: 3 })).length, 3);
  });

  it("reports size, time and type of an object", async () => {
    await put("reading/told", "12345");
    const entry = await storage().stat("reading/told");
    assert.deepEqual([entry.path, entry.size, entry.type, entry.is_latest], ["reading/told", 5, "file", true]);
    assert.ok(entry.last_modified instanceof Date && Math.abs(entry.last_modified.getTime() - Date.now()) < 600_000);
    assert.notEqual(entry.etag, "");
    assert.ok(!entry.etag.includes('"'));
  });

  it("reports whether a path exists", async () => {
    await put("reading/there", "1");
    assert.equal(await storage().exists("reading/there"), true);
    assert.equal(await storage().exists("reading/nowhere"), false);
  });

  it("reports not_found for a missing object", async () => {
    await rejectsWith("not_found", storage().read("reading/absent"));
    await rejectsWith("not_found", storage().stat("reading/absent"));
    await rejectsWith("not_found", collect(storage().readStream("reading/absent")));
    await rejectsWith("not_found", storage().read("no/such/folder/at/all"));
  });

  it("stops at a signal, with its reason", async () => {
    await put("reading/signal", "1");
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(storage().read("reading/signal", { signal }), /enough/);
    await assert.rejects(storage().stat("reading/signal", { signal }), /enough/);
  });
}

async function* streamOf(pieces: number, size: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < pieces; index += 1) yield Buffer.alloc(size, index);
}

function writingRules({ storage }: Scope): void {
  it("overwrites an object, and returns the new entry", async () => {
    await storage().write("writing/twice", "first");
    const written = await storage().write("writing/twice", "second");
    assert.equal(await storage().readText("writing/twice"), "second");
    const there = await storage().stat("writing/twice");
    assert.deepEqual([written.path, written.size, written.etag], [there.path, there.size, there.etag]);
  });

  it("writes a stream that is larger than a part, and an empty one", async () => {
    await storage().write("writing/stream", streamOf(13, 1_000_000), { concurrency: 3 });
    const bytes = await storage().read("writing/stream");
    assert.ok(Buffer.concat(await Array.fromAsync(streamOf(13, 1_000_000))).equals(bytes));
    await storage().write("writing/nothing", streamOf(0, 0));
    assert.equal((await storage().read("writing/nothing")).length, 0);
  });

  it("writes bytes that are larger than a part", async () => {
    const bytes = randomBytes(11_000_001);
    let moved = 0;
    await storage().write("writing/big", bytes, { concurrency: 2, onBytes: (count) => (moved += count) });
    assert.ok(bytes.equals(await storage().read("writing/big")));
    assert.equal(moved, bytes.length);
  });

  it("accepts a file of several parts unchanged, and returns it unchanged", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-storage-file-"));
    try {
      const [from, to] = [join(folder, "from"), join(folder, "to")];
      const bytes = randomBytes(21_000_000);
      await writeFile(from, bytes);
      const moved = { up: 0, down: 0 };
      await storage().upload(from, "writing/file", { onBytes: (count) => (moved.up += count) });
      const onBytes = (count: number) => (moved.down += count);
      assert.equal(await storage().download("writing/file", to, { onBytes }), bytes.length);
      assert.ok(bytes.equals(await readFile(to)));
      assert.deepEqual(moved, { up: bytes.length, down: bytes.length });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("copies from local files, and to them", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-storage-copies-"));
    const local = openStorage(folder);
    try {
      for (const [name, bytes] of Object.entries({ small: randomBytes(1000), large: randomBytes(11_000_000) })) {
        await writeFile(join(folder, name), bytes);
        await storage().copyFrom(local, name, `copying/${name}`, { size: bytes.length });
        await local.copyFrom(storage(), `copying/${name}`, `back/${name}`, { size: bytes.length });
        assert.ok(bytes.equals(await readFile(join(folder, "back", name))));
      }
      // Within one store the bytes do not pass through here.
      if (storage().scheme !== "file") {
        await rejectsWith("invalid", storage().copyFrom(local, "small", "copying/short", { size: 1001 }));
        assert.equal(await storage().exists("copying/short"), false);
        await rejectsWith("invalid", local.copyFrom(storage(), "copying/small", "back/short", { size: 999 }));
      }
      await rejectsWith("not_found", storage().copyFrom(local, "none", "copying/none"));
      await rejectsWith("not_found", local.copyFrom(storage(), "copying/none", "back/none"));
      assert.deepEqual((await readdir(join(folder, "back"))).sort(), ["large", "small"]);
    } finally {
      await local.close();
      await rm(folder, { recursive: true });
    }
  });

  it("keeps the old object when a stream fails", async () => {
    await storage().write("writing/failed", "old");
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* streamOf(12, 1_000_000);
      throw new Error("the source broke");
    }
    await assert.rejects(storage().write("writing/failed", failing()), /the source broke/);
    assert.equal(await storage().readText("writing/failed"), "old");
  });

  it("writes nothing of a stream whose size differs from the declared one", async () => {
    for (const [pieces, size] of [
      [12, 11_900_000],
      [12, 12_100_000],
      [1, 5],
      [1, 2_000_000],
    ] as const) {
      await rejectsWith("invalid", storage().write("writing/other-size", streamOf(pieces, 1_000_000), { size }));
    }
    assert.equal(await storage().exists("writing/other-size"), false);
    await storage().write("writing/that-size", streamOf(12, 1_000_000), { size: 12_000_000 });
    const bytes = await storage().read("writing/that-size");
    assert.ok(Buffer.concat(await Array.fromAsync(streamOf(12, 1_000_000))).equals(bytes));
  });

  it("writes nothing after a signal", async () => {
    const stop = new AbortController();
    async function* stopping(): AsyncGenerator<Uint8Array> {
      yield* streamOf(12, 1_000_000);
      stop.abort(new Error("enough"));
      yield* streamOf(12, 1_000_000);
    }
    await assert.rejects(storage().write("writing/stopped", stopping(), { signal: stop.signal }), /enough/);
    assert.equal(await storage().exists("writing/stopped"), false);
  });
}

function changingRules({ storage }: Scope): void {
  it("copies an object, also over another one", async () => {
    await storage().write("changing/from", "content");
    await storage().write("changing/copy/to", "old");
    await storage().copy("changing/from", "changing/copy/to");
    assert.equal(await storage().readText("changing/copy/to"), "content");
    assert.equal(await storage().readText("changing/from"), "content");
    await storage().copy("changing/from", "changing/from");
    assert.equal(await storage().readText("changing/from"), "content");
    await rejectsWith("not_found", storage().copy("changing/absent", "changing/copy/never"));
    await rejectsWith("not_found", storage().copy("changing/absent", "changing/absent"));
  });

  it("copies from and to a storage of another scheme, and within itself", async () => {
    const other = openStorage(`memory://conformance-${randomUUID()}`);
    await other.write("there", "copied over");
    await storage().copyFrom(other, "there", "changing/over/elsewhere");
    await storage().copyFrom(storage(), "changing/over/elsewhere", "changing/over/itself");
    await other.copyFrom(storage(), "changing/over/itself", "back");
    assert.equal(await other.readText("back"), "copied over");
    await other.remove("", { recursive: true });
    await other.close();
  });

  it("moves an object", async () => {
    await storage().write("changing/here", "moved");
    await storage().move("changing/here", "changing/moved/there");
    assert.equal(await storage().readText("changing/moved/there"), "moved");
    assert.equal(await storage().exists("changing/here"), false);
    await storage().move("changing/moved/there", "changing/moved/there");
    assert.equal(await storage().readText("changing/moved/there"), "moved");
  });

  it("removes an object, and accepts that it is already gone", async () => {
    await storage().write("changing/gone", "1");
    await storage().remove("changing/gone");
    assert.equal(await storage().exists("changing/gone"), false);
    await storage().remove("changing/gone");
  });

  it("applies the changes of a batch, whose storage is closed afterwards", async () => {
    await storage().write("changing/batch/old", "1");
    const batch = await storage().batch(async (opened) => {
      await opened.write("changing/batch/new", "2");
      await opened.remove("changing/batch/old");
      return opened;
    });
    assert.deepEqual(await pathsOf(storage().list({ prefix: "changing/batch/" })), ["changing/batch/new"]);
    if (batch !== storage()) await rejectsWith("invalid", batch.read("changing/batch/new"));
  });

  it("keeps an empty folder only if folders exist on their own", async () => {
    await storage().write("changing/emptied/a", "1");
    await storage().remove("changing/emptied/a");
    assert.equal(await storage().exists("changing/emptied"), storage().capabilities.folders);
  });

  it("removes a folder with its content, and nothing else", async () => {
    for (const name of ["tree/a", "tree/b/c", "tree/b/d/e", "treehouse"])
      await storage().write(`changing/${name}`, "1");
    await storage().remove("changing/tree", { recursive: true });
    const left = await pathsOf(storage().list({ prefix: "changing/tree", recursive: true }));
    assert.deepEqual(left, ["changing/treehouse"]);
  });
}

/** A local folder for the tests of a suite. */
function localFolder(): { file(name: string): string; names(): Promise<string[]> } {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-storage-local-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));
  return {
    file: (name) => join(folder, name),
    names: async () => (await readdir(folder, { recursive: true })).sort(),
  };
}

const isOurs = (error: unknown) => isStorageError(error) || assert.fail(`not a StorageError: ${error}`);

function downloadRules({ storage, put }: Scope): void {
  const { file, names } = localFolder();

  it("downloads an object over an existing file, and creates missing folders", async () => {
    const bytes = randomBytes(300_000);
    await put("downloading/whole", bytes);
    await mkdir(file("new"));
    await writeFile(file("new/whole"), "longer than nothing, and old");
    for (const name of ["new/whole", "deep/er/whole"]) {
      assert.equal(await storage().download("downloading/whole", file(name)), bytes.length);
      assert.ok(bytes.equals(await readFile(file(name))));
    }
    assert.deepEqual(await names(), ["deep", "deep/er", "deep/er/whole", "new", "new/whole"]);
  });

  it("downloads an empty object", async () => {
    await put("downloading/empty", "");
    assert.equal(await storage().download("downloading/empty", file("empty")), 0);
    assert.equal((await readFile(file("empty"))).length, 0);
  });

  it("downloads ranges, also in parallel, each to its offset", async () => {
    const bytes = randomBytes(1_000_003);
    await put("downloading/ranges", bytes);
    const options = { concurrency: 5, blockSize: 100_000 };
    await storage().download("downloading/ranges", file("ranges"), options);
    assert.ok(bytes.equals(await readFile(file("ranges"))));
    const part = { ...options, start: 150_001, end: 777_777 };
    assert.equal(await storage().download("downloading/ranges", file("ranges"), part), 777_777 - 150_001);
    assert.ok(bytes.subarray(150_001, 777_777).equals(await readFile(file("ranges"))));
  });

  it("leaves the old file, and nothing beside it, when a download fails or is stopped", async () => {
    await put("downloading/stopped", randomBytes(300_000));
    await writeFile(file("kept"), "old");
    const there = await names();
    await rejectsWith("not_found", storage().download("downloading/none", file("kept")));
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(async () => storage().download("downloading/stopped", file("kept"), { signal }), /enough/);
    await rejectsWith("invalid", storage().download("downloading/stopped", file("kept"), { start: 2, end: 1 }));
    assert.equal(await readFile(file("kept"), "utf8"), "old");
    assert.deepEqual(await names(), there);
  });

  it("refuses to download onto a folder or below a file", async () => {
    await put("downloading/misplaced", "1");
    await mkdir(file("folder"));
    await writeFile(file("plain"), "1");
    const there = await names();
    await assert.rejects(storage().download("downloading/misplaced", file("folder")), isOurs);
    await assert.rejects(storage().download("downloading/misplaced", file("plain/below")), isOurs);
    assert.deepEqual(await names(), there);
  });
}

function uploadRules({ storage }: Scope): void {
  const { file } = localFolder();
  const upload = async (name: string, bytes: Uint8Array, options = {}) => {
    await writeFile(file(name), bytes);
    const entry = await storage().upload(file(name), `uploading/${name}`, options);
    assert.deepEqual([entry.path, entry.size], [`uploading/${name}`, bytes.length]);
    assert.ok(Buffer.from(bytes).equals(await storage().read(`uploading/${name}`)));
  };

  it("uploads a file over an existing object, and an empty file", async () => {
    await upload("file", randomBytes(300_000));
    await upload("file", randomBytes(100));
    await upload("file", Buffer.alloc(0));
  });

  it("uploads a big file in parts", async () => {
    await upload("big", randomBytes(11 * 1024 * 1024 + 1), { partSize: 5 * 1024 * 1024, concurrency: 3 });
  });

  it("uploads nothing if the file is missing or is a folder", async () => {
    await mkdir(file("folder"));
    await rejectsWith("not_found", storage().upload(file("none"), "uploading/none"));
    await assert.rejects(storage().upload(file("folder"), "uploading/none"), isOurs);
    assert.equal(await storage().exists("uploading/none"), false);
  });
}

const tree = ["a", "b/1", "b/2", "b/c/3", "b-more", "d/e/f/4"];

function listingRules({ storage, put }: Scope): void {
  const list = (options: Parameters<Storage["list"]>[0]) => pathsOf(storage().list(options));
  const all = tree.map((path) => `listing/${path}`);
  before(async () => {
    for (const path of all) await put(path, path);
  });

  it("lists everything below a prefix", async () => {
    assert.deepEqual(await list({ prefix: "listing/", recursive: true }), all.toSorted());
    assert.deepEqual(await list({ prefix: "listing/b/", recursive: true }), [
      "listing/b/1",
      "listing/b/2",
      "listing/b/c/3",
    ]);
  });

  it("lists one level, with folders as directories", async () => {
    const entries = await Array.fromAsync(storage().list({ prefix: "listing/" }));
    const seen = entries.map((entry) => `${entry.type} ${entry.path}`).sort();
    assert.deepEqual(seen, ["directory listing/b/", "directory listing/d/", "file listing/a", "file listing/b-more"]);
  });

  it("accepts a prefix that ends inside a name", async () => {
    assert.deepEqual(await list({ prefix: "listing/b" }), ["listing/b-more", "listing/b/"]);
    assert.deepEqual(await list({ prefix: "listing/b/c/3", recursive: true }), ["listing/b/c/3"]);
  });

  it("lists nothing below an unknown prefix", async () => {
    assert.deepEqual(await list({ prefix: "listing/none/", recursive: true }), []);
    assert.deepEqual(await list({ prefix: "nowhere/at/all/" }), []);
  });

  it("lists in byte order on request, and after a given path", async () => {
    const ordered = async (options: object) =>
      (await Array.fromAsync(storage().list({ prefix: "listing/", ordered: true, ...options }))).map(
        ({ path }) => path,
      );
    const expected = ["listing/a", "listing/b-more", "listing/b/1", "listing/b/2", "listing/b/c/3", "listing/d/e/f/4"];
    assert.deepEqual(await ordered({ recursive: true }), expected);
    assert.deepEqual(await ordered({ recursive: true, startAfter: "listing/b/1" }), expected.slice(3));
    assert.deepEqual(await ordered({}), ["listing/a", "listing/b-more", "listing/b/", "listing/d/"]);
  });

  it("lists the same metadata as stat", async () => {
    const [entry] = await Array.fromAsync(storage().list({ prefix: "listing/a" }));
    const { last_modified, ...rest } = await storage().stat("listing/a");
    assert.deepEqual({ ...entry, last_modified: null }, { ...rest, last_modified: null });
    assert.equal(Math.floor(Number(entry?.last_modified) / 1000), Math.floor(Number(last_modified) / 1000));
  });

  it("reports a folder as a directory on stat", async () => {
    const entry = await storage().stat("listing/b");
    assert.deepEqual([entry.type, entry.path], ["directory", "listing/b/"]);
    assert.equal(await storage().exists("listing/d/e"), true);
    assert.equal(await storage().exists("listing/b-"), false);
  });

  it("walks a tree, folder by folder", async () => {
    const folders = await Array.fromAsync(storage().walk("listing"));
    const seen = folders.map(({ path, files }) => [path, files.map((file) => file.path).sort()]);
    assert.deepEqual(seen, [
      ["listing/", ["listing/a", "listing/b-more"]],
      ["listing/b/", ["listing/b/1", "listing/b/2"]],
      ["listing/b/c/", ["listing/b/c/3"]],
      ["listing/d/", []],
      ["listing/d/e/", []],
      ["listing/d/e/f/", ["listing/d/e/f/4"]],
    ]);
  });

  it("stops listing at a signal, with its reason", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(pathsOf(storage().list({ signal })), /enough/);
  });
}

function patternRules({ storage, put }: Scope): void {
  const glob = async (pattern: string) =>
    (await pathsOf(storage().glob(`globbing/${pattern}`))).map((path) => path.slice("globbing/".length));
  before(async () => {
    for (const path of ["x.csv", "y.txt", "1/x.csv", "2/x.csv", "2/z.csv", "2/deep/er/x.csv", "10/x.csv"]) {
      await put(`globbing/${path}`, "1");
    }
  });

  it("finds files by patterns that stay within a folder", async () => {
    assert.deepEqual(await glob("*.csv"), ["x.csv"]);
    assert.deepEqual(await glob("?/x.csv"), ["1/x.csv", "2/x.csv"]);
    assert.deepEqual(await glob("[!1]/[xz].csv"), ["2/x.csv", "2/z.csv"]);
    assert.deepEqual(await glob("none*"), []);
    assert.deepEqual(await glob("2/z.csv"), ["2/z.csv"]);
  });

  it("finds files in all folders below with two stars, including the folder itself", async () => {
    assert.deepEqual(await glob("**/x.csv"), ["1/x.csv", "10/x.csv", "2/deep/er/x.csv", "2/x.csv", "x.csv"]);
    assert.deepEqual(await glob("2/**"), ["2/deep/er/x.csv", "2/x.csv", "2/z.csv"]);
    assert.deepEqual(await glob("*/**/er/*"), ["2/deep/er/x.csv"]);
  });

  it("accepts alternatives in braces, each file once", async () => {
    assert.deepEqual(await glob("{x.csv,y.txt,x.*}"), ["x.csv", "y.txt"]);
    assert.deepEqual(await glob("{1..2}/x.csv"), ["1/x.csv", "2/x.csv"]);
  });
}

function keyRules(scope: Scope): void {
  const { capabilities, refusedKeys } = scope.subject;
  for (const [name, odd] of Object.entries<OddKey>(oddKeys)) {
    if (!odd.isPossible(capabilities.keys)) continue;
    const refused = refusedKeys?.includes(name as keyof typeof oddKeys);
    if (!refused) it(`keeps ${name}`, () => keepsKey(scope, name, odd));
    else it(`cannot keep ${name} on this server`, () => assert.rejects(keepsKey(scope, name, odd)));
  }
}

async function keepsKey({ subject, storage, put }: Scope, name: string, odd: OddKey): Promise<void> {
  const folder = `keys/${name.replaceAll(/\W/g, "-")}/`;
  const path = folder + odd.key(folder.length);
  const content = odd.empty ? "" : name;
  const beside = odd.beside === undefined ? [] : [folder + odd.beside];
  for (const other of beside) await put(other, "beside");
  await put(path, content);
  assert.equal(await storage().readText(path), content);
  assert.equal((await storage().stat(path)).size, content.length);
  if (!subject.capabilities.list) return;
  assert.deepEqual(await pathsOf(storage().list({ prefix: folder, recursive: true })), [path, ...beside]);
  if (!subject.capabilities.write) return;
  if (!odd.empty) await storage().copy(path, `${folder}copy`);
  if (!odd.empty) assert.equal(await storage().readText(`${folder}copy`), content);
  await storage().remove(folder.slice(0, -1), { recursive: true });
  assert.equal(await storage().exists(path), false);
}

function conditionRules({ subject, storage }: Scope): void {
  it("writes only if nothing exists, on request", async () => {
    await storage().write("conditions/new", "first", { ifNoneMatch: "*" });
    await rejectsWith("precondition", storage().write("conditions/new", "second", { ifNoneMatch: "*" }));
    assert.equal(await storage().readText("conditions/new"), "first");
  });

  if (subject.neverMatches) {
    it("cannot overwrite only the expected object, on this server", async () => {
      const { etag } = await storage().write("conditions/never", "first");
      await rejectsWith("precondition", storage().write("conditions/never", "second", { ifMatch: etag }));
      await rejectsWith("precondition", storage().write("conditions/never", "third", { ifMatch: "another" }));
      assert.equal(await storage().readText("conditions/never"), "first");
    });
    return;
  }

  it("overwrites only the expected object, on request", async () => {
    const { etag } = await storage().write("conditions/known", "first");
    await storage().write("conditions/known", "second", { ifMatch: etag });
    await rejectsWith("precondition", storage().write("conditions/known", "third", { ifMatch: etag }));
    assert.equal(await storage().readText("conditions/known"), "second");
  });
}

function refusalRules({ subject, storage, put }: Scope): void {
  it("refuses what its capabilities lack", async () => {
    const { list, write, presign, versions } = subject.capabilities;
    if (!list) await rejectsWith("unsupported", pathsOf(storage().list()));
    if (!write) await rejectsWith("unsupported", storage().write("x", "x"));
    if (!write) await rejectsWith("unsupported", storage().remove("x"));
    if (!presign) await rejectsWith("unsupported", storage().presign("x"));
    if (!versions) await rejectsWith("unsupported", pathsOf(storage().list({ versions: true })));
  });

  it("refuses every version if it has none, and changes nothing", async () => {
    const { versions, namedVersions, write } = subject.capabilities;
    if (versions || namedVersions) return;
    await put("versions/file", "1");
    const version = "nope";
    const path = "versions/file";
    const calls = [
      () => storage().stat(path, { version }),
      () => storage().exists(path, { version }),
      () => storage().read(path, { version }),
      () => storage().readText(path, { version }),
      () => Array.fromAsync(storage().readStream(path, { version })),
      () => storage().open(path, { version }),
      () => storage().download(path, join(tmpdir(), `millrace-${randomUUID()}`), { version }),
      () => openStorage("memory://versions").copyFrom(storage(), path, "copied", { version }),
    ];
    const changes = [
      () => storage().copy(path, "versions/copied", { version }),
      () => storage().remove(path, { version }),
      () => storage().remove("versions", { version, recursive: true }),
    ];
    for (const call of [...calls, ...(write ? changes : [])]) await rejectsWith("unsupported", call());
    assert.equal(await storage().readText(path), "1");
  });

  it("refuses everything once it is closed", async () => {
    const closed = await subject.open();
    await closed.close();
    await rejectsWith("invalid", closed.read("x"));
  });
}
