import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openStorage, type Storage, type SyncOptions, syncTrees } from "@millrace/storage";
import { pathsOf } from "../conformance.ts";

describe("making one tree like another", () => {
  let folder: string;
  let source: Storage;
  let target: Storage;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-sync-"));
    source = openStorage(join(folder, "source"));
    target = openStorage(`memory://${basename(folder)}`);
    for (const path of ["a", "b/c", "b/d/e"]) await source.write(path, path);
  });
  afterEach(async () => {
    await Promise.all([source.close(), target.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  const sync = async (options: SyncOptions = {}) => {
    const actions: string[] = [];
    await syncTrees(source, target, { ...options, onAction: ({ kind, path }) => actions.push(`${kind} ${path}`) });
    return actions.sort();
  };
  const all = (storage: Storage) => pathsOf(storage.list({ recursive: true }));

  it("copies missing files, and nothing the second time", async () => {
    assert.deepEqual(await sync(), ["copy a", "copy b/c", "copy b/d/e"]);
    assert.equal(await target.readText("b/d/e"), "b/d/e");
    assert.deepEqual(await sync(), ["keep a", "keep b/c", "keep b/d/e"]);
  });

  it("copies files that differ in size, or are newer in the source", async () => {
    await sync();
    await source.write("a", "longer than before");
    await source.write("b/c", "B/C");
    const later = new Date(Date.now() + 60_000);
    await utimes(join(folder, "source/b/c"), later, later);
    assert.deepEqual(await sync(), ["copy a", "copy b/c", "keep b/d/e"]);
    assert.equal(await target.readText("b/c"), "B/C");
  });

  it("copies files that may have changed within the time resolution of the target", async () => {
    await using copy = openStorage(join(folder, "copy"));
    await syncTrees(source, copy);
    await utimes(join(folder, "copy/a"), 1000, 1000);
    const kinds = new Map<string, string>();
    for (const changed of [1000, 1000.5]) {
      await utimes(join(folder, "source/a"), changed, changed);
      await syncTrees(source, copy, {
        dryRun: true,
        onAction: ({ kind, path }) => kinds.set(`${path} ${changed}`, kind),
      });
    }
    assert.deepEqual([kinds.get("a 1000"), kinds.get("a 1000.5")], ["keep", "copy"]);
  });

  it("removes nothing behind a link to a folder", async () => {
    await using other = openStorage(join(folder, "other"));
    await other.write("kept", "1");
    await using linked = openStorage(join(folder, "linked"));
    await linked.write("gone", "1");
    await symlink(join(folder, "other"), join(folder, "linked/link"));
    await syncTrees(source, linked, { remove: true });
    assert.deepEqual(await all(linked), ["a", "b/c", "b/d/e", "link/kept"]);
  });

  it("removes extra files only on request", async () => {
    await target.write("x/y", "extra");
    await sync();
    assert.ok(await target.exists("x/y"));
    assert.ok((await sync({ remove: true })).includes("remove x/y"));
    assert.deepEqual(await all(target), await all(source));
  });

  it("refuses a source that is missing or is a file, and changes nothing", async () => {
    await target.write("x", "extra");
    const refused = async (uri: string, code: string, message: RegExp) => {
      await using wrong = openStorage(uri);
      for (const options of [{}, { remove: true }, { remove: true, dryRun: true }]) {
        await assert.rejects(syncTrees(wrong, target, options), { code, message });
      }
    };
    await refused(join(folder, "none"), "not_found", /none: the folder does not exist/);
    await refused(join(folder, "source/a"), "invalid", /source\/a is a file/);
    await refused(join(folder, "source/a/"), "invalid", /source\/a\/ is a file/);
    await refused(`${target.uri}/none`, "not_found", /none: the folder does not exist/);
    await refused(`${target.uri}/x`, "invalid", /x is a file/);
    assert.deepEqual(await all(target), ["x"]);
  });

  it("accepts an empty folder, and a folder marker", async () => {
    await mkdir(join(folder, "empty"));
    await target.write("marked/", "");
    for (const uri of [join(folder, "empty"), `${target.uri}/marked/`]) {
      await target.write("x/y", "extra");
      await using empty = openStorage(uri);
      await using emptied = openStorage(`${target.uri}/x`);
      await syncTrees(empty, emptied, { remove: true });
      assert.deepEqual(await all(emptied), []);
    }
  });

  it("does nothing in a dry run, and reports what it would do", async () => {
    await target.write("x", "extra");
    assert.deepEqual(await sync({ dryRun: true, remove: true }), ["copy a", "copy b/c", "copy b/d/e", "remove x"]);
    assert.deepEqual(await all(target), ["x"]);
  });

  it("stops at a signal, with its reason", async () => {
    await assert.rejects(sync({ signal: AbortSignal.abort(new Error("enough")) }), /enough/);
    assert.deepEqual(await all(target), []);
  });
});
