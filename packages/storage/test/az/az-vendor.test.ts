/** The vendor's own client reads what we write, and we read what it writes, on azurite. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobSASPermissions,
  BlobServiceClient,
  type ContainerClient,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { openStorage, type Storage } from "@millrace/storage";
import { type AzServer, startAzurite } from "@millrace/testing/servers/azurite.ts";
import { pathsOf, rejectsWith } from "../conformance.ts";
import { keepsToTheExpected } from "../support/expected-object.ts";
import { oddKeys } from "../support/odd-keys.ts";
import { listAzInSmallPages } from "../support/small-pages.ts";

describe("az:// beside the vendor's client", { timeout: 240_000 }, () => {
  let server: AzServer;
  let storage: Storage;
  let vendor: ContainerClient;
  const container = "plain-container";
  before(async () => {
    server = await startAzurite();
    vendor = BlobServiceClient.fromConnectionString(server.connection_string).getContainerClient(container);
    await vendor.create();
    storage = openStorage(`az://${container}`, { connection_string: server.connection_string });
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  it("writes blobs that the vendor's client reads, whole and in blocks", async () => {
    for (const size of [0, 1, 1_000_000, 20_000_001]) {
      const bytes = randomBytes(size);
      await storage.write(`ours/${size}`, bytes, { concurrency: 3 });
      assert.ok(bytes.equals(await vendor.getBlobClient(`ours/${size}`).downloadToBuffer()), `${size} bytes`);
    }
  });

  it("reads blobs that the vendor's client wrote, whole and in blocks", async () => {
    const bytes = randomBytes(5_000_000);
    const blob = vendor.getBlockBlobClient("theirs");
    for (const options of [{}, { blockSize: 1_000_000, maxSingleShotSize: 1_000_000 }]) {
      const { etag } = await blob.uploadData(bytes, options);
      assert.ok(bytes.equals(await storage.read("theirs")));
      assert.equal(`"${(await storage.stat("theirs")).etag}"`, etag);
    }
  });

  it("uses the same keys as the vendor's client", async () => {
    const keys = Object.values(oddKeys)
      .map((odd) => odd.key(0))
      .filter((key) => !key.endsWith("/") && !key.includes("\\"));
    for (const key of keys) await storage.write(`odd/${key}`, key);
    for (const key of keys) {
      assert.equal(String(await vendor.getBlobClient(`odd/${key}`).downloadToBuffer()), key, JSON.stringify(key));
    }
    const names = await Array.fromAsync(vendor.listBlobsFlat({ prefix: "odd/" }), ({ name }) => name);
    assert.deepEqual(await pathsOf(storage.list({ prefix: "odd/", recursive: true })), names.sort());
  });

  it("keeps type and metadata, whole, in blocks and in copies", async () => {
    const options = { contentType: "text/x-test", metadata: { colour: "blue", a_b: "1", a1: "2", ab: "3" } };
    await storage.write("described/whole", "x", options);
    await storage.write("described/blocks", Buffer.alloc(9_000_000), options);
    await storage.copy("described/whole", "described/copy");
    for (const name of ["whole", "blocks", "copy"]) {
      const { contentType, metadata } = await vendor.getBlobClient(`described/${name}`).getProperties();
      assert.deepEqual([contentType, metadata], ["text/x-test", options.metadata], name);
    }
  });

  it("lists many pages in parallel, each key once", async () => {
    const keys = Array.from({ length: 400 }, (_, index) => `many/${index % 5}/${index % 3}/${index}`);
    await Promise.all(keys.map((key) => storage.write(key, "")));
    const paths = await listAzInSmallPages(container, "many/", { connection_string: server.connection_string });
    assert.deepEqual(paths.sort(), keys.toSorted());
  });

  it("removes many blobs with few requests, including those with snapshots", async () => {
    await vendor.getBlobClient("many/0/0/0").createSnapshot();
    await storage.remove("many", { recursive: true });
    assert.deepEqual(await pathsOf(storage.list({ prefix: "many/", recursive: true })), []);
  });

  it("leaves nothing visible of a failed write", async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 20; piece += 1) yield Buffer.alloc(1_000_000);
      throw new Error("broken");
    }
    await assert.rejects(storage.write("never", failing()), /broken/);
    assert.equal(await vendor.getBlobClient("never").exists(), false);
  });

  it("signs URLs exactly like the vendor's client, which read and write until they are modified", async () => {
    const key = "signed/a+b c";
    const put = await storage.presign(key, { method: "PUT", expiresIn: 60 });
    const headers = { "x-ms-blob-type": "BlockBlob" };
    assert.equal((await fetch(put, { method: "PUT", body: "by way of a URL", headers })).status, 201);
    const url = new URL(await storage.presign(key, { expiresIn: 600 }));
    assert.equal(await (await fetch(url)).text(), "by way of a URL");
    assert.equal((await fetch(url.href.replace("a%2Bb", "c"))).status, 403);
    const values = {
      containerName: container,
      blobName: key,
      permissions: BlobSASPermissions.parse("r"),
      expiresOn: new Date(url.searchParams.get("se") ?? ""),
      version: url.searchParams.get("sv") ?? "",
      protocol: "https,http" as never,
    };
    const account = new StorageSharedKeyCredential(server.account_name, server.account_key);
    const theirs = new URLSearchParams(generateBlobSASQueryParameters(values, account).toString());
    assert.deepEqual(Object.fromEntries(url.searchParams), Object.fromEntries(theirs));
  });

  it("accepts a SAS token in every call", async () => {
    const account = new StorageSharedKeyCredential(server.account_name, server.account_key);
    const token = generateAccountSASQueryParameters(
      {
        expiresOn: new Date(Date.now() + 600_000),
        permissions: AccountSASPermissions.parse("rwdlac"),
        resourceTypes: AccountSASResourceTypes.parse("sco").toString(),
        services: AccountSASServices.parse("b").toString(),
      },
      account,
    ).toString();
    const endpoint = `BlobEndpoint=http://127.0.0.1:${server.port}/${server.account_name}`;
    const connection_string = `${endpoint};SharedAccessSignature=${token}`;
    const guest = openStorage(`az://${container}/guest`, { connection_string });
    await guest.write("a", "1");
    await guest.copy("a", "b/c");
    assert.deepEqual(await pathsOf(guest.list({ recursive: true })), ["a", "b/c"]);
    assert.equal((await guest.stat("b/c")).size, 1);
    // One by one: azurite answers 500 to a batch with a SAS token, whoever sends it.
    for (const path of ["a", "b/c"]) await guest.remove(path);
    assert.deepEqual(await pathsOf(guest.list({ recursive: true })), []);
    await rejectsWith("permission", guest.presign("a"));
    await guest.close();
  });

  it("reports permission for a wrong key, with the store's request id", async () => {
    const connection_string = server.connection_string.replace(/AccountKey=[^;]+/, "AccountKey=d3Jvbmc=");
    const wrong = openStorage(`az://${container}`, { connection_string, assume_container_exists: true });
    await assert.rejects(wrong.read("theirs"), { code: "permission", status: 403, bucket: container, key: "theirs" });
    await assert.rejects(wrong.read("theirs"), (error: { requestId?: string }) => Boolean(error.requestId));
    await wrong.close();
  });

  it("checks for the container according to assume_container_exists", async () => {
    const { connection_string } = server;
    const missing = (assume_container_exists: boolean) =>
      openStorage("az://missing-container", { connection_string, assume_container_exists });
    await assert.rejects(missing(false).exists("x"), { code: "config", status: 404 });
    assert.equal(await missing(true).exists("x"), false);
    const made = missing(false);
    await made.createBucket();
    assert.equal(await made.exists("x"), false);
    const message = /^az:\/\/missing-container already exists/;
    await assert.rejects(made.createBucket(), { code: "precondition", status: 409, retryable: false, message });
    await made.close();
  });

  it("reads and writes only the expected blob on request, and reports the conflict", () => keepsToTheExpected(storage));

  it("notices that a blob was replaced while it was read", async () => {
    await storage.write("replaced", randomBytes(3_000_000));
    const stream = storage.readStream("replaced", { concurrency: 2, blockSize: 500_000 });
    await assert.rejects(
      async () => {
        for await (const _ of stream) await storage.write("replaced", randomBytes(3_000_000));
      },
      { code: "precondition" },
    );
  });
});
