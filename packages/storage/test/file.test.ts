import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { openStorage } from "@millrace/storage";
import { fileScheme } from "../src/schemes/file/scheme.ts";
import { conformance, pathsOf, rejectsWith } from "./conformance.ts";

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-storage-file-"));
});
after(() => rm(root, { recursive: true, force: true }));

const newFolder = () => mkdtemp(join(root, "place-"));

conformance("file://", {
  capabilities: fileScheme.capabilities,
  open: async () => openStorage(`file://${await newFolder()}`),
});

describe("file://", () => {
  it("opens plain paths, absolute and relative, as the same files", async () => {
    const folder = await newFolder();
    await openStorage(folder).write("a", "1");
    assert.equal(await openStorage(relative(process.cwd(), folder)).readText("a"), "1");
    assert.equal(await openStorage(`file://${folder}/a`).readText(""), "1");
  });

  it("refuses paths that lead elsewhere", async () => {
    const storage = openStorage(await newFolder());
    for (const path of ["../x", "a/../../x", "./x", "a//b", "a/", "a\0b"]) {
      await rejectsWith("invalid", storage.write(path, "x"));
      await rejectsWith("invalid", storage.read(path));
    }
  });

  it("leaves nothing beside the file, whether a write succeeds or fails", async () => {
    const folder = await newFolder();
    const storage = openStorage(folder);
    await storage.write("a", "1");
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(3_000_000);
      throw new Error("broken");
    }
    await assert.rejects(storage.write("b", failing()), /broken/);
    assert.deepEqual(await readdir(folder), ["a"]);
    assert.equal(await readFile(join(folder, "a"), "utf8"), "1");
  });

  it("follows links to files, and passes over links to nowhere", async () => {
    const folder = await newFolder();
    await writeFile(join(folder, "real"), "1");
    await symlink(join(folder, "real"), join(folder, "link"));
    await symlink(join(folder, "missing"), join(folder, "broken"));
    assert.deepEqual(await pathsOf(openStorage(folder).list()), ["link", "real"]);
  });
});
