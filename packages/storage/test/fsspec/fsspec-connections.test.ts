/** The bridge to fsspec when connections are lost: no later call uses one, and none waits for it forever. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { access, chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openStorage, type Storage } from "@millrace/storage";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { pathsOf, rejectsWith } from "../conformance.ts";
import { ftpUser, type Pyftpdlib, startPyftpdlib } from "../support/ftpd.ts";

const skip = await whyNoPythonPackages();
const withPython = (python: string) => ({ environment: { ...process.env, MILLRACE_FSSPEC_PYTHON: python } });
const megabyte = 1024 * 1024;

describe("fsspec+ftp:// with a server that ends connections", { skip, timeout: 120_000 }, () => {
  let server: Pyftpdlib;
  let storage: Storage;
  const big = randomBytes(6 * megabyte);
  before(async () => {
    server = await startPyftpdlib();
    storage = openStorage(
      `fsspec+ftp://127.0.0.1:${server.port}/`,
      { ...ftpUser },
      withPython(pythonProgram("python")),
    );
    await writeFile(join(server.data, "a"), "here");
    await writeFile(join(server.data, "big"), big);
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  for (const how of ["told", "silently"] as const) {
    it(`between two calls, ${how}: each call continues with another`, async () => {
      const calls: Record<string, () => Promise<void>> = {
        readText: async () => assert.equal(await storage.readText("a"), "here"),
        exists: async () => assert.equal(await storage.exists("a"), true),
        list: async () => assert.deepEqual(await pathsOf(storage.list()), ["a", "big"]),
        write: async () => assert.equal((await storage.write("new", "new")).size, 3),
        remove: async () => {
          await storage.remove("new");
          await assert.rejects(access(join(server.data, "new")), { code: "ENOENT" });
        },
      };
      for (const [name, call] of Object.entries(calls)) {
        await server.endConnections(how);
        await call().catch((error: unknown) => assert.fail(`${name}: ${error}`));
      }
    });

    it(`between two calls, ${how}: many concurrent calls continue, too`, async () => {
      const reads = () => Promise.all(Array.from({ length: 8 }, () => storage.readText("a")));
      await reads();
      await server.endConnections(how);
      assert.deepEqual(await reads(), Array(8).fill("here"));
    });

    it(`while a file is read, ${how}: the read continues with another`, async () => {
      const pieces: Uint8Array[] = [];
      for await (const piece of storage.readStream("big")) {
        if (pieces.length === 0) await server.endConnections(how);
        pieces.push(piece);
      }
      assert.ok(Buffer.concat(pieces).equals(big));
      assert.equal(await storage.readText("a"), "here");
    });
  }
});

/** Behaviour that no server shows on demand: simulated by file systems that are controlled by files. */
describe("the bridge to fsspec", { skip, timeout: 120_000 }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-bridge-lost-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const opened = async (module: string): Promise<Storage> => {
    const place = await mkdtemp(join(folder, "python-"));
    await writeFile(join(place, "sitecustomize.py"), module);
    const python = join(place, "python");
    await writeFile(python, `#!/bin/sh\nPYTHONPATH=${place} exec ${pythonProgram("python")} "$@"\n`);
    await chmod(python, 0o755);
    return openStorage("madeupfs://x", {}, withPython(python));
  };

  it("fails one call when all idle connections are lost, not one for each", async () => {
    const lost = join(folder, "lost");
    const storage = await opened(`
import fsspec, os, threading
from fsspec.implementations.memory import MemoryFileSystem
together = threading.Barrier(8)
class Losing(MemoryFileSystem):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.is_early = not os.path.exists(${JSON.stringify(lost)})
    def info(self, path, **options):
        if self.is_early and os.path.exists(${JSON.stringify(lost)}):
            raise OSError("Socket is closed")
        if not os.path.exists(${JSON.stringify(lost)}):
            together.wait()
        return {"name": path, "size": 1, "type": "file"}
fsspec.register_implementation("madeupfs", Losing)`);
    await Promise.all(Array.from({ length: 8 }, () => storage.stat("a")));
    await writeFile(lost, "");
    await rejectsWith("failed", storage.stat("a"));
    for (let turn = 0; turn < 8; turn += 1) assert.equal((await storage.stat("a")).size, 1);
    await storage.close();
  });

  it("does not reuse a connection on which a read was aborted", async () => {
    const closed = join(folder, "closed");
    const storage = await opened(`
import fsspec, io
from fsspec.implementations.memory import MemoryFileSystem
class OutOfStep(MemoryFileSystem):
    is_reading = False
    def info(self, path, **options):
        if self.is_reading:
            raise OSError("out of step")
        return {"name": path, "size": 1 << 24, "type": "file"}
    def open(self, path, mode="rb", **options):
        self.is_reading = True
        class Noted(io.BytesIO):
            def close(self):
                open(${JSON.stringify(closed)}, "w").close()
                super().close()
        return Noted(bytes(1 << 24))
fsspec.register_implementation("madeupfs", OutOfStep)`);
    const reader = storage.readStream("a").getReader();
    await reader.read();
    await reader.cancel();
    await untilThere(closed);
    for (let turn = 0; turn < 20; turn += 1) assert.equal((await storage.stat("a")).size, 2 ** 24);
    await storage.close();
  });

  it("does not mistake a lost connection for a missing file when removing", async () => {
    const storage = await opened(`
import fsspec
from fsspec.implementations.memory import MemoryFileSystem
class Lost(MemoryFileSystem):
    def rm_file(self, path):
        raise OSError("Socket is closed")
    info = rm_file
fsspec.register_implementation("madeupfs", Lost)`);
    await rejectsWith("failed", storage.remove("a"));
    await storage.close();
  });

  it("releases an aborted write, even if its server hangs", async () => {
    const [hangs, gate] = [join(folder, "hangs"), join(folder, "gate")];
    const storage = await opened(`
import fsspec, os, time
from fsspec.implementations.memory import MemoryFileSystem
class Hanging(MemoryFileSystem):
    def open(self, path, mode="rb", **options):
        if mode == "wb":
            open(${JSON.stringify(hangs)}, "w").close()
            while not os.path.exists(${JSON.stringify(gate)}):
                time.sleep(0.01)
        return super().open(path, mode, **options)
fsspec.register_implementation("madeupfs", Hanging)`);
    const stop = new AbortController();
    const writing = storage.write("a", randomBytes(3), { signal: stop.signal });
    const ended = assert.rejects(writing, /enough/);
    await untilThere(hangs);
    stop.abort(new Error("enough"));
    await ended;
    assert.equal(await storage.exists("a"), false);
    await writeFile(gate, "");
    await storage.close();
  });
});

async function untilThere(file: string): Promise<void> {
  while (!(await stat(file).catch(() => undefined))) await new Promise((resolve) => setTimeout(resolve, 20));
}
