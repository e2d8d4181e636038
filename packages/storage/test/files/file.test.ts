import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { isStorageError, openStorage } from "@millrace/storage";
import { fileScheme } from "../../src/schemes/file/scheme.ts";
import { conformance, pathsOf, rejectsWith } from "../conformance.ts";

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

  it("leaves no temporary file, whether a write succeeds or fails", async () => {
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

  it("follows links to files, and ignores broken links and links to themselves", async () => {
    const folder = await newFolder();
    await writeFile(join(folder, "real"), "1");
    await symlink(join(folder, "real"), join(folder, "link"));
    await symlink(join(folder, "missing"), join(folder, "broken"));
    await symlink("itself", join(folder, "itself"));
    assert.deepEqual(await pathsOf(openStorage(folder).list()), ["link", "real"]);
    await rejectsWith("not_found", openStorage(folder).read("itself"));
  });

  it("follows links to folders, wherever they are, and removes only the link", async () => {
    const [folder, elsewhere] = [await newFolder(), await newFolder()];
    const storage = openStorage(folder);
    await openStorage(elsewhere).write("deep/x", "1");
    await storage.write("linked.txt", "1");
    await symlink(elsewhere, join(folder, "linked"));
    assert.deepEqual(await pathsOf(storage.list()), ["linked.txt", "linked/"]);
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), ["linked.txt", "linked/deep/x"]);
    assert.deepEqual(await pathsOf(storage.list({ prefix: "linked/", recursive: true })), ["linked/deep/x"]);
    await storage.remove("linked", { recursive: true });
    assert.deepEqual(await pathsOf(storage.list()), ["linked.txt"]);
    assert.equal(await openStorage(elsewhere).readText("deep/x"), "1");
  });

  it("omits links that lead back to a parent folder, by one link or by several", async () => {
    const folder = await newFolder();
    const storage = openStorage(folder);
    await storage.write("a/x", "1");
    await storage.write("b/y", "1");
    await symlink("..", join(folder, "a/up"));
    await symlink(dirname(folder), join(folder, "out"));
    await symlink("../b", join(folder, "a/to-b"));
    await symlink("../a", join(folder, "b/to-a"));
    const files = ["a/to-b/y", "a/x", "b/to-a/x", "b/y"];
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), files);
    const walked = (await Array.fromAsync(storage.walk())).flatMap((each) => each.files.map(({ path }) => path));
    assert.deepEqual(walked.sort(), files);
  });

  it("omits names that are not UTF-8, and lists each valid one once", async () => {
    const folder = await newFolder();
    await mkdir(Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff])]));
    await writeFile(Buffer.concat([Buffer.from(`${folder}/f`), Buffer.from([0xff])]), "1");
    await writeFile(join(folder, "f\uFFFD"), "12");
    for (const recursive of [false, true]) {
      assert.deepEqual(await pathsOf(openStorage(folder).list({ recursive })), ["f\uFFFD"]);
    }
  });

  it("omits what is neither file nor folder, and refuses it at once by its type", { timeout: 20_000 }, async () => {
    const folder = await newFolder();
    const storage = openStorage(folder);
    await storage.write("a", "1");
    await promisify(execFile)("mkfifo", [join(folder, "pipe")]);
    await symlink("pipe", join(folder, "link"));
    await symlink("/dev/null", join(folder, "device"));
    const socket = createServer().listen(join(folder, "socket"));
    await once(socket, "listening");
    assert.deepEqual(await pathsOf(storage.list({ recursive: true })), ["a"]);
    const kinds = {
      pipe: /pipe is a named pipe, not a regular file/,
      link: /a named pipe/,
      socket: /a socket/,
      device: /a device/,
    };
    for (const [path, message] of Object.entries(kinds)) {
      const calls = [
        () => storage.stat(path),
        () => storage.read(path),
        () => storage.open(path),
        () => storage.copy(path, "copied"),
        () => storage.download(path, join(folder, "copied")),
        () => storage.upload(join(folder, path), "copied"),
        () => openStorage("memory://irregular").copyFrom(storage, path, "copied"),
      ];
      const refused = (error: unknown) => isStorageError(error, "invalid") && message.test(error.message);
      for (const call of calls) await assert.rejects(call, refused);
    }
    assert.deepEqual(await pathsOf(storage.list()), ["a"]);
    socket.close();
  });

  it("does not list a file before it is complete", async () => {
    const folder = await newFolder();
    const storage = openStorage(folder);
    const seen: string[][] = [];
    const look = async () => seen.push(await readdir(folder), await pathsOf(storage.list({ recursive: true })));
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(3_000_000);
      await look();
      yield Buffer.alloc(3_000_000);
    }
    await storage.write("a name that is long: 🦊", pieces());
    const [onDisk, listed] = seen;
    assert.match(onDisk?.join() ?? "", /^\.a name t\.[0-9a-f-]{36}\.part$/);
    assert.deepEqual(listed, []);
  });

  it("lists names that only resemble those of unfinished files", async () => {
    const storage = openStorage(await newFolder());
    const id = "01234567-89ab-cdef-0123-456789abcdef";
    const names = [`.longer than ours.${id}.part`, `.x.${id}.part/y`, ".x.part", `x.${id}.part`];
    for (const name of names) await storage.write(name, "1");
    assert.deepEqual(await pathsOf(storage.list({ recursive: true, ordered: true })), names.toSorted());
  });

  it("copies to a temporary file first, so that a failed copy leaves the old file", async () => {
    const folder = await newFolder();
    const storage = openStorage(folder);
    await storage.write("a", "new");
    await storage.write("b", "old");
    await link(join(folder, "b"), join(folder, "twin"));
    await storage.copy("a", "b");
    assert.deepEqual([await storage.readText("b"), await storage.readText("twin")], ["new", "old"]);
    await storage.write("folder/x", "1");
    await assert.rejects(storage.copy("a", "folder"));
    assert.deepEqual((await readdir(folder)).sort(), ["a", "b", "folder", "twin"]);
  });
});
