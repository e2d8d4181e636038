import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { ContentCache, fromStorage, openStorage, type StorageFile } from "@millrace/storage";
import { rejectsWith } from "../conformance.ts";
import { startRecordingServer } from "../support/recording-server.ts";

const run = promisify(execFile);
let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-storage-cache-"));
});
after(() => rm(root, { recursive: true, force: true }));

let places = 0;
async function listed(cache: ContentCache, contents: Readonly<Record<string, string>>): Promise<StorageFile[]> {
  places += 1;
  const uri = `memory://cached-${places}`;
  for (const [path, text] of Object.entries(contents)) await openStorage(uri).write(path, text);
  return Array.fromAsync(fromStorage(`${uri}/`, { cache }));
}

const newCache = async (max_bytes: number) => new ContentCache(await mkdtemp(join(root, "cache-")), { max_bytes });

/** The total size of all copies on disk. */
async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(join(folder, "files"), { recursive: true, withFileTypes: true });
  const sizes = names
    .filter((name) => name.isFile())
    .map(async (name) => (await stat(join(name.parentPath, name.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Sets when a copy was last used. */
const age = async (path: string, seconds: number) => {
  const then = new Date(Date.now() - seconds * 1000);
  await utimes(path, then, then);
};

describe("a content cache", () => {
  it("holds a copy that is downloaded once", async () => {
    const server = await startRecordingServer((_request, response) => {
      response.writeHead(200, { etag: '"e"', "content-length": 2 }).end("ok");
    });
    const cache = await newCache(100);
    const files = fromStorage(`${server.url}/file`, { cache });
    const [file] = await Array.fromAsync(files);
    assert.ok(file);
    assert.equal(await cache.has(file), false);
    const paths = await Promise.all([file.ensureCached(), file.ensureCached(), file.ensureCached()]);
    assert.deepEqual(new Set([...paths, await file.ensureCached()]).size, 1);
    assert.equal(await readFile(paths[0], "utf8"), "ok");
    assert.equal(await cache.has(file), true);
    assert.equal(server.requests.filter(({ method }) => method === "GET").length, 1);
    await files.close();
    await server.stop();
  });

  it("needs a positive size limit", () => {
    for (const max_bytes of [-3, 0, Number.NaN, "10", undefined]) {
      const make = () => new ContentCache(root, { max_bytes: max_bytes as number });
      assert.throws(make, /^StorageError: max_bytes: expected a positive number of bytes, got /);
    }
    assert.ok(new ContentCache(root, { max_bytes: Number.POSITIVE_INFINITY }));
  });

  it("treats a changed file as another one", async () => {
    const cache = await newCache(100);
    const uri = "memory://cached-changes";
    const path = async (text: string) => {
      await openStorage(uri).write("a", text);
      const [file] = await Array.fromAsync(fromStorage(`${uri}/a`, { cache }));
      return (await file?.ensureCached()) as string;
    };
    const [first, second] = [await path("1"), await path("2")];
    assert.deepEqual([await readFile(first, "utf8"), await readFile(second, "utf8")], ["1", "2"]);
  });

  it("never holds more bytes than allowed, and removes the least recently used copies", async () => {
    const cache = await newCache(10);
    const [a, b, c] = (await listed(cache, { a: "aaaa", b: "bbbb", c: "cccc" })) as [
      StorageFile,
      StorageFile,
      StorageFile,
    ];
    await age(await a.ensureCached(), 200);
    await age(await b.ensureCached(), 100);
    await a.ensureCached();
    await c.ensureCached();
    assert.deepEqual([await cache.has(a), await cache.has(b), await cache.has(c)], [true, false, true]);
    assert.ok((await bytesIn(cache.folder)) <= 10);
  });

  it("refuses a file that is larger than the cache, and one that differs from its listing", async () => {
    const cache = await newCache(10);
    const [big] = await listed(cache, { big: "12345678901" });
    await rejectsWith("invalid", big?.ensureCached() as Promise<unknown>);
    const [file] = await listed(cache, { a: "1" });
    await rejectsWith(
      "precondition",
      cache.ensure(file as StorageFile, (part) => writeFile(part, "123")),
    );
    assert.equal(await cache.has(file as StorageFile), false);
    assert.deepEqual(await readdir(join(cache.folder, "parts")), [], "nothing half is left");
  });

  it("is not blocked by a process that died while it held the lock", async () => {
    const cache = await newCache(10);
    const [file] = await listed(cache, { a: "1" });
    const place = cache.placeOf(file as StorageFile);
    const { stdout } = await run(process.execPath, [
      "-e",
      "console.log(require('node:os').hostname() + ' ' + process.pid)",
    ]);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(`${place}.lock`, stdout.trim());
    assert.equal(await file?.ensureCached(), place);
  });

  it("stops waiting for a lock at a signal", async () => {
    const cache = await newCache(10);
    const [file] = await listed(cache, { a: "1" });
    const place = cache.placeOf(file as StorageFile);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(`${place}.lock`, `another-machine ${process.pid}`);
    const stop = new AbortController();
    const waiting = file?.ensureCached({ signal: stop.signal });
    stop.abort(new Error("enough"));
    await assert.rejects(waiting as Promise<string>, /enough/);
  });

  it("is shared by processes: nobody sees a partial copy, and the limit holds", { timeout: 120_000 }, async () => {
    const source = await mkdtemp(join(root, "source-"));
    const names = Array.from({ length: 30 }, (_, index) => `file-${index}`);
    for (const name of names) await writeFile(join(source, name), name.repeat(200));
    const cache = await newCache(20_000);
    const program = `
      import { readFile } from "node:fs/promises";
      import { ContentCache, fromStorage } from "@millrace/storage";
      const cache = new ContentCache(${JSON.stringify(cache.folder)}, { max_bytes: 20000 });
      const files = await Array.fromAsync(fromStorage(${JSON.stringify(`${source}/`)}, { cache }));
      for (const file of files.sort(() => Math.random() - 0.5)) {
        const path = await file.ensureCached();
        // Another process may have needed the space since.
        const text = await readFile(path, "utf8").catch((error) => { if (error.code !== "ENOENT") throw error; });
        if (text !== undefined && text !== file.path.repeat(200)) throw new Error("wrong bytes of " + file.path);
      }
      console.log("done");`;
    const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning", "--input-type=module"];
    const results = await Promise.all(
      [1, 2, 3].map(() => run(process.execPath, [...words, "-e", program], { cwd: import.meta.dirname })),
    );
    assert.deepEqual(
      results.map(({ stdout }) => stdout),
      ["done\n", "done\n", "done\n"],
    );
    const held = await bytesIn(cache.folder);
    assert.ok(held > 0 && held <= 20_000, String(held));
  });
});
