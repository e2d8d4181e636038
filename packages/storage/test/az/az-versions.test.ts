/** Versions of `az://`, on our own server, because azurite has none. The vendor's client reads the same from it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { BlobServiceClient, type ContainerClient } from "@azure/storage-blob";
import { openStorage, type Storage } from "@millrace/storage";
import { pathsOf } from "../conformance.ts";
import { startVersionedBlobs, type VersionedBlobs } from "../support/versioned-blobs.ts";

describe("az:// with versions", { timeout: 60_000 }, () => {
  let server: VersionedBlobs;
  let storage: Storage;
  let vendor: ContainerClient;
  before(async () => {
    server = await startVersionedBlobs();
    const { connection_string } = server;
    vendor = BlobServiceClient.fromConnectionString(connection_string).getContainerClient("container");
    storage = openStorage("az://container", { connection_string, version_aware: true });
    for (const content of ["one", "two", "three"]) await storage.write("a", content);
    await storage.write("b", "gone");
    await storage.remove("b");
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  it("lists every version, and which is the latest, as the vendor's client does", async () => {
    const ours = await Array.fromAsync(storage.list(), ({ path, version, is_latest }) => [path, version, is_latest]);
    const theirs = await Array.fromAsync(
      vendor.listBlobsFlat({ includeVersions: true }),
      ({ name, versionId, isCurrentVersion }) => [name, versionId, isCurrentVersion ?? false],
    );
    assert.deepEqual(ours, theirs);
    assert.equal(ours.filter(([path, , latest]) => path === "a" && latest).length, 1);
    assert.equal(ours.filter(([path, , latest]) => path === "b" && latest).length, 0);
  });

  it("reports the version that it wrote, and whether it is the latest", async () => {
    const { version } = await storage.write("told", "first");
    await storage.write("told", "second");
    assert.equal((await storage.stat("told", { version })).is_latest, false);
    assert.equal((await storage.stat("told")).is_latest, true);
    const theirs = await vendor.getBlobClient("told").withVersion(version).downloadToBuffer();
    assert.equal(String(theirs), "first");
  });

  it("reads, stats and removes one version", async () => {
    const versions = await Array.fromAsync(storage.list({ prefix: "a" }));
    const ofA = versions.filter(({ path }) => path === "a");
    const contents = await Promise.all(ofA.map(({ version }) => storage.readText("a", { version })));
    assert.deepEqual(contents.sort(), ["one", "three", "two"]);
    const old = ofA.find(({ is_latest }) => !is_latest)?.version as string;
    assert.equal((await storage.stat("a", { version: old })).version, old);
    await storage.remove("a", { version: old });
    assert.equal(await storage.exists("a", { version: old }), false);
    assert.equal(await storage.readText("a"), "three");
  });

  it("lists only the latest on request", async () => {
    assert.deepEqual(await pathsOf(storage.list({ versions: false })), ["a", "told"]);
  });
});
