/** The bridge to fsspec itself: what is missing, what breaks, and how much of a stream is in memory. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type ClientConfig, fromStorage, isStorageError, openStorage, type StorageError } from "@millrace/storage";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { pythonChild } from "../../src/schemes/fsspec/child.ts";
import { pieceSize, windowSize } from "../../src/schemes/fsspec/frames.ts";
import { chainingNames, fsspecNames } from "../../src/schemes/fsspec/names.ts";
import { rejectsWith } from "../conformance.ts";

const run = promisify(execFile);
const skip = await whyNoPythonPackages();
const python = pythonProgram("python");
const withPython = (name: string) => ({ environment: { ...process.env, MILLRACE_FSSPEC_PYTHON: name } });
const open = (uri: string, config: ClientConfig = {}) => openStorage(uri, config, withPython(python));

const failureOf = async (work: Promise<unknown>): Promise<StorageError> => {
  const error = await work.then(
    () => assert.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  assert.ok(isStorageError(error), `not a StorageError: ${error}`);
  return error;
};

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-bridge-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const megabyte = 1024 * 1024;

async function* megabytes(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(megabyte, index);
}

describe("the bridge to fsspec reports what is missing:", () => {
  it("a Python", async () => {
    const storage = openStorage("github://org:repo@main/x", {}, withPython("/nowhere/python"));
    const { code, message } = await failureOf(storage.read("a"));
    assert.equal(code, "config");
    assert.match(message, /\/nowhere\/python could not be started.*pip install fsspec.*MILLRACE_FSSPEC_PYTHON/);
  });

  it("fsspec", { skip }, async () => {
    const bare = join(folder, "python-without-fsspec");
    await writeFile(bare, `#!/bin/sh\nexec ${python} -S "$@"\n`);
    await chmod(bare, 0o755);
    const { code, message } = await failureOf(openStorage("github://o:r@m/x", {}, withPython(bare)).read("a"));
    assert.equal(code, "config");
    assert.match(message, /cannot import fsspec.*pip install fsspec/);
  });

  it("the package of a file system, by its name", { skip }, async () => {
    const { code, message } = await failureOf(open("oss://bucket/x").read("a"));
    assert.equal(code, "config");
    assert.match(message, /^oss:\/\/: Install ossfs to access Alibaba.*-m pip install ossfs/);
    const smb = await failureOf(open("smb://host/share/x", { password: "x" }).read("a"));
    assert.match(smb.message, /pip install smbprotocol/);
  });

  it("an unknown file system, with the native schemes", { skip }, async () => {
    const { code, message } = await failureOf(open("nosuchkindatall://x").read("a"));
    assert.equal(code, "config");
    assert.match(message, /nosuchkindatall:\/\/ is not a known kind .*\(file, .*s3.*zip.*\) nor of fsspec \d/);
  });
});

describe("the bridge to fsspec", { skip, timeout: 240_000 }, () => {
  const place = () => `fsspec+local://${folder}/${randomUUID()}`;

  it("knows the names of fsspec, so that it starts no Python for a mistyped name", async () => {
    const { hello } = await pythonChild(python);
    const unknown = [...fsspecNames, ...chainingNames].filter((name) => !hello.names.includes(name));
    assert.deepEqual(unknown, []);
    const theirs = hello.names.filter((name) => {
      try {
        return open(`${name}://x`) === undefined;
      } catch (error) {
        // Native schemes check their configuration at once; the name itself must be known.
        return /not a known kind/.test((error as Error).message);
      }
    });
    assert.deepEqual(theirs, []);
  });

  it("passes the keys of client_config to the file system, and shows no secret in an error", async () => {
    const config = { secret_key: "do-not-tell", nonsense: "do-not-tell" };
    const { message, code } = await failureOf(open("github://org/x", config).read("a"));
    assert.match(message, /^github:\/\//);
    assert.ok(!message.includes("do-not-tell"), message);
    assert.notEqual(code, "not_found");
    const [shown] = open("github://org:repo@main/x", config).explainConfig();
    assert.deepEqual([shown?.key, shown?.value], ["secret_key", "********"]);
  });

  it("keeps secrets out of the command line and the environment of the process", async () => {
    const storage = open("fsspec+memory://secrets", { key: "visible-key", secret: "hidden-secret" });
    await storage.write("a", "1");
    const { pid } = await pythonChild(python);
    for (const file of ["cmdline", "environ"]) {
      const text = await readFile(`/proc/${pid}/${file}`, "utf8");
      assert.ok(!/hidden-secret|visible-key/.test(text), file);
    }
    await storage.close();
  });

  it("has one Python process for all storages of the process", async () => {
    const [one, two] = [open(place()), open("fsspec+memory://one-python")];
    await one.write("a", "1");
    const { pid } = await pythonChild(python);
    await two.write("a", "1");
    assert.equal((await pythonChild(python)).pid, pid);
  });

  it("streams 64 MB in both directions with no more in memory than its windows", async () => {
    const storage = open(place());
    const child = await pythonChild(python);
    await storage.write("big", megabytes(64));
    let count = 0;
    for await (const piece of storage.readStream("big")) {
      count += piece.length;
      // A reader that is slower than the store: the other side must wait.
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(count, 64 * megabyte);
    assert.ok(child.mostBuffered <= windowSize + pieceSize, `${child.mostBuffered} bytes waited here`);
    const there = await child.begin({ action: "buffered" }, () => new Error("not told")).result();
    assert.ok(Number(there) > 0 && Number(there) <= windowSize + pieceSize, `${there} bytes waited there`);
    await storage.close();
  });

  it("sends nothing more to a reader that has stopped", async () => {
    const storage = open(place());
    await storage.write("big", megabytes(16));
    const child = await pythonChild(python);
    const before = child.mostBuffered;
    const reader = storage.readStream("big").getReader();
    await reader.read();
    // The answer to another call arrives after everything that was sent before.
    for (let turn = 0; turn < 10; turn += 1) await storage.stat("big");
    assert.ok(child.mostBuffered <= Math.max(before, windowSize + pieceSize), `${child.mostBuffered} bytes waited`);
    await reader.cancel();
    await storage.close();
  });

  it("reads nothing more from a source while the store does not write", async () => {
    const gate = join(folder, "gate");
    const gated = await pythonWith(
      `import fsspec, os, time
from fsspec.implementations.memory import MemoryFileSystem
class Gated(MemoryFileSystem):
    def open(self, path, mode="rb", **kwargs):
        file = super().open(path, mode, **kwargs)
        write = file.write
        def wait_and_write(data):
            while not os.path.exists(${JSON.stringify(gate)}):
                time.sleep(0.01)
            return write(data)
        if mode == "wb":
            file.write = wait_and_write
        return file
fsspec.register_implementation("gatedfs", Gated)`,
    );
    const storage = openStorage("gatedfs://x", {}, withPython(gated));
    let pulled = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const piece of megabytes(64)) {
        pulled += piece.length;
        yield piece;
      }
    }
    const writing = storage.write("big", counted());
    const child = await pythonChild(gated);
    const mostBuffered = async () =>
      Number(await child.begin({ action: "buffered" }, () => new Error("not told")).result());
    while ((await mostBuffered()) < windowSize) await new Promise((resolve) => setImmediate(resolve));
    // Answers are in order: what was sent before them has arrived.
    for (let turn = 0; turn < 50; turn += 1) await storage.exists("nothing");
    assert.ok(pulled < 24 * megabyte, `${pulled} bytes were taken`);
    await writeFile(gate, "");
    assert.equal((await writing).size, 64 * megabyte);
    assert.ok((await mostBuffered()) <= windowSize + pieceSize, "more than a window waited there");
    await storage.close();
  });

  it("reads a hundred files at once, each with its own bytes", async () => {
    const storage = open(place());
    const contents = Array.from({ length: 100 }, (_, index) => Buffer.alloc(100_000 + index, index));
    await Promise.all(contents.map((bytes, index) => storage.write(`file-${index}`, bytes)));
    const read = await Promise.all(contents.map((_, index) => storage.read(`file-${index}`)));
    for (const [index, bytes] of read.entries()) assert.ok(contents[index]?.equals(bytes), `file-${index}`);
    await storage.close();
  });

  it("fails pending calls when Python is killed, and the next call starts another", async () => {
    const storage = open(place());
    await storage.write("big", megabytes(16));
    const reader = storage.readStream("big").getReader();
    await reader.read();
    const started = Promise.withResolvers<void>();
    const hold = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield* megabytes(12);
      started.resolve();
      await hold.promise;
      yield* megabytes(12);
    }
    const writing = failureOf(storage.write("half", slow()));
    await started.promise;
    const { pid } = await pythonChild(python);
    process.kill(pid, "SIGKILL");
    const drain = async () => {
      while (!(await reader.read()).done);
    };
    const reading = await failureOf(drain());
    hold.resolve();
    for (const error of [reading, await writing]) {
      assert.equal(error.code, "failed");
      assert.match(error.message, /Python process of fsspec ended: it was killed by SIGKILL/);
    }
    assert.equal(await storage.exists("half"), false);
    assert.equal((await storage.read("big")).length, 16 * megabyte);
    assert.notEqual((await pythonChild(python)).pid, pid);
    await storage.close();
  });

  it("stops a read and a write at a signal, and leaves nothing of the write", async () => {
    const uri = place();
    const storage = open(uri);
    await storage.write("big", megabytes(16));
    const stop = new AbortController();
    const reader = storage.readStream("big", { signal: stop.signal }).getReader();
    await reader.read();
    async function* stopping(): AsyncGenerator<Uint8Array> {
      yield* megabytes(12);
      stop.abort(new Error("enough"));
      yield* megabytes(12);
    }
    await assert.rejects(storage.write("half", stopping(), { signal: stop.signal }), /enough/);
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, /enough/);
    assert.deepEqual(await readdir(uri.replace("fsspec+local://", "")), ["big"]);
    await storage.close();
  });

  it("maps Python exceptions by their types, with their messages, and without output of the library", async () => {
    const faulty = await pythonWith(
      `import builtins, fsspec
from fsspec.implementations.memory import MemoryFileSystem
class Faulty(MemoryFileSystem):
    def info(self, path, **kwargs):
        print("noise", flush=True)
        raise getattr(builtins, path.rsplit("/", 1)[-1])("some words of " + self.storage_options["password"])
fsspec.register_implementation("faultyfs", Faulty)`,
    );
    const storage = openStorage("faultyfs://x", { password: "not-to-be-seen" }, withPython(faulty));
    const codes = {
      FileNotFoundError: "not_found",
      NotADirectoryError: "not_found",
      PermissionError: "permission",
      FileExistsError: "precondition",
      TimeoutError: "network",
      ConnectionResetError: "network",
      EOFError: "network",
      NotImplementedError: "unsupported",
      RuntimeError: "failed",
    };
    for (const [name, code] of Object.entries(codes)) {
      const error = await failureOf(storage.read(name));
      assert.equal(error.code, code, name);
      assert.equal(error.message, `faultyfs://x/${name}: some words of ******** (${name})`);
      assert.equal(error.key, `x/${name}`);
    }
    await storage.close();
  });

  it("refuses invalid frames with an error", async () => {
    const wild = join(folder, "wild-python");
    await writeFile(wild, `#!/bin/sh\nprintf '\\377\\377\\377\\377\\011aaaa'\necho some words >&2\nexec sleep 60\n`);
    await chmod(wild, 0o755);
    const { message } = await failureOf(openStorage("oss://b", {}, withPython(wild)).read("a"));
    assert.match(message, /it sent an invalid answer \(unexpected frame: kind 9, 4294967295 bytes\)/);
  });

  it("keeps no program running, and exits with it", async () => {
    const uri = place();
    const script = `
      import { openStorage } from "@millrace/storage";
      import { pythonChild } from "../../src/schemes/fsspec/child.ts";
      const storage = openStorage(${JSON.stringify(uri)});
      await storage.write("a", "1");
      console.log((await pythonChild(process.env.MILLRACE_FSSPEC_PYTHON)).pid);
    `;
    const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];
    const { stdout } = await run(process.execPath, [...words, "--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      env: { ...process.env, MILLRACE_FSSPEC_PYTHON: python },
      timeout: 60_000,
    });
    const pid = Number(stdout);
    assert.ok(pid > 0);
    await untilGone(pid);
  });

  it("reads whole fsspec chains, and patterns in them", async () => {
    const archive = join(folder, "archive.zip");
    const script =
      "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as z:\n z.writestr('in/a.csv', 'one'); z.writestr('in/b.csv', 'two'); z.writestr('c.txt', 'three')";
    await run(python, ["-c", script, archive]);
    const cache = join(folder, "cache");
    const chain = `zip://in/a.csv::simplecache::file://${archive}`;
    const storage = open(chain, { simplecache: { cache_storage: cache } });
    assert.equal(await storage.readText(""), "one");
    const alone = open(`simplecache::file://${archive}`, { cache_storage: cache });
    assert.ok((await readFile(archive)).equals(await alone.read("")));
    process.env["MILLRACE_FSSPEC_PYTHON"] = python;
    try {
      const found = fromStorage(`fsspec+zip://in/*.csv::file://${archive}`);
      const paths = await Array.fromAsync(found, (file) => file.path);
      assert.deepEqual(paths.sort(), ["a.csv", "b.csv"]);
      await found.close();
    } finally {
      delete process.env["MILLRACE_FSSPEC_PYTHON"];
    }
    await rejectsWith("not_found", open(`fsspec+zip://none::file://${archive}`).read(""));
  });

  it("does not support versions, conditions or signed URLs", async () => {
    const storage = open(place());
    await rejectsWith("unsupported", storage.presign("a"));
    await rejectsWith("unsupported", storage.write("a", randomBytes(3), { ifNoneMatch: "*" }));
    await rejectsWith("unsupported", storage.read("a", { version: "1" }));
  });
});

/** A Python that runs this code when it starts. */
async function pythonWith(module: string): Promise<string> {
  const place = await mkdtemp(join(folder, "python-"));
  await writeFile(join(place, "sitecustomize.py"), module);
  const program = join(place, "python");
  await writeFile(program, `#!/bin/sh\nPYTHONPATH=${place} exec ${python} "$@"\n`);
  await chmod(program, 0o755);
  return program;
}

/** Waits until the process has ended. Polls, because it is not our child. */
async function untilGone(pid: number): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`the process ${pid} is still there`);
}
