/** The vendor's own client reads what we write, and we read what it writes, on fake-gcs-server. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { Storage as Vendor } from "@google-cloud/storage";
import { openStorage, type Storage } from "@millrace/storage";
import { type GsServer, startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import { pathsOf, rejectsWith } from "../conformance.ts";
import { keepsToTheExpected } from "../support/expected-object.ts";
import { oddKeys } from "../support/odd-keys.ts";
import { makeServiceAccount } from "../support/service-account.ts";
import { listGsInSmallPages } from "../support/small-pages.ts";

const skip = await whyNoFakeGcsServer();

describe("gs:// beside the vendor's client", { skip, timeout: 240_000 }, () => {
  let server: GsServer;
  let storage: Storage;
  let vendor: Vendor;
  const bucket = "plain-bucket";
  const config = () => ({ endpoint_url: server.endpoint_url, token: "anon" });
  before(async () => {
    server = await startFakeGcsServer();
    vendor = new Vendor({ apiEndpoint: server.endpoint_url, projectId: "p" });
    await vendor.createBucket(bucket);
    storage = openStorage(`gs://${bucket}`, config());
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });
  const file = (key: string) => vendor.bucket(bucket).file(key);

  it("writes objects that the vendor's client reads, whole and in parts", async () => {
    for (const size of [0, 1, 1_000_000, 20_000_001]) {
      const bytes = randomBytes(size);
      await storage.write(`ours/${size}`, bytes);
      assert.ok(bytes.equals((await file(`ours/${size}`).download())[0]), `${size} bytes`);
    }
  });

  it("writes parts even of a size that the store would refuse", async () => {
    const bytes = randomBytes(3_000_000);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 70_000) yield bytes.subarray(at, at + 70_000);
    }
    await storage.write("ours/uneven", pieces(), { partSize: 300_001 });
    assert.ok(bytes.equals((await file("ours/uneven").download())[0]));
    await rejectsWith("invalid", storage.write("never", pieces(), { partSize: 1000 }));
  });

  it("reads objects that the vendor's client wrote, at once and resumably", async () => {
    for (const resumable of [false, true]) {
      const bytes = randomBytes(1_000_000);
      await file("theirs").save(bytes, { resumable });
      assert.ok(bytes.equals(await storage.read("theirs")));
      const [{ etag, generation }] = await file("theirs").getMetadata();
      const entry = await storage.stat("theirs");
      assert.deepEqual([entry.etag, entry.version, entry.size], [etag, String(generation), bytes.length]);
    }
  });

  it("uses the same keys as the vendor's client", async () => {
    const keys = Object.values(oddKeys)
      .map((odd) => odd.key(0))
      .filter((key) => !key.endsWith("/"));
    for (const key of keys) await storage.write(`odd/${key}`, key);
    for (const key of keys) assert.equal(String((await file(`odd/${key}`).download())[0]), key);
    const [files] = await vendor.bucket(bucket).getFiles({ prefix: "odd/" });
    assert.deepEqual(
      await pathsOf(storage.list({ prefix: "odd/", recursive: true })),
      files.map(({ name }) => name).sort(),
    );
  });

  it("keeps type and metadata, whole and in parts", async () => {
    const options = { contentType: "text/x-test", metadata: { colour: "blue" } };
    await storage.write("described/whole", "x", options);
    await storage.write("described/parts", Buffer.alloc(9_000_000), options);
    await storage.copy("described/whole", "described/copy");
    for (const name of ["whole", "parts", "copy"]) {
      const [{ contentType, metadata }] = await file(`described/${name}`).getMetadata();
      assert.deepEqual([contentType, metadata], ["text/x-test", { colour: "blue" }], name);
    }
  });

  it("stores any text as metadata, under any name", async () => {
    const metadata = { name: "wérd 日本\nline ", "größe in cm": "1" };
    await storage.write("described/any", "x", { metadata });
    await storage.write("described/any-in-parts", Buffer.alloc(9_000_000), { metadata });
    for (const name of ["any", "any-in-parts"])
      assert.deepEqual((await file(`described/${name}`).getMetadata())[0].metadata, metadata);
  });

  it("lists many pages in parallel, each key once", async () => {
    const keys = Array.from({ length: 400 }, (_, index) => `many/${index % 5}/${index}`);
    await Promise.all(keys.map((key) => storage.write(key, "")));
    assert.deepEqual((await listGsInSmallPages(bucket, "many/", config())).sort(), keys.toSorted());
  });

  it("removes many objects with few requests", async () => {
    await storage.remove("many", { recursive: true });
    assert.deepEqual(await pathsOf(storage.list({ prefix: "many/", recursive: true })), []);
  });

  it("checks the stored content on request", async () => {
    for (const consistency of ["none", "size", "md5"]) {
      const checking = openStorage(`gs://${bucket}`, { ...config(), consistency });
      await checking.write("checked/whole", randomBytes(1000));
      await checking.write("checked/parts", randomBytes(9_000_000));
      await checking.close();
    }
  });

  it("signs URLs exactly like the vendor's client, which read and write without credentials", async () => {
    const credentials = makeServiceAccount();
    // The vendor's signer omits the port of an endpoint, so both are compared at the standard one.
    const url = await openStorage(`gs://${bucket}`, { token: credentials }).presign("signed/a+b c", { expiresIn: 600 });
    const made = new URL(url).searchParams.get("X-Goog-Date") ?? "";
    const start = new Date(made.replace(/(....)(..)(..)T(..)(..)(..)Z/, "$1-$2-$3T$4:$5:$6Z"));
    const [theirs] = await new Vendor({ projectId: "p", credentials })
      .bucket(bucket)
      .file("signed/a+b c")
      .getSignedUrl({ version: "v4", action: "read", accessibleAt: start, expires: start.getTime() + 600_000 });
    assert.equal(url, theirs);
    const signing = openStorage(`gs://${bucket}`, { ...config(), token: credentials });
    const put = await signing.presign("signed/a+b c", { method: "PUT" });
    assert.equal((await fetch(put, { method: "PUT", body: "by way of a URL" })).status, 200);
    assert.equal(await (await fetch(await signing.presign("signed/a+b c"))).text(), "by way of a URL");
    await rejectsWith("permission", storage.presign("signed/a+b c"));
    await rejectsWith("invalid", signing.presign("signed/a+b c", { expiresIn: 8 * 24 * 3600 }));
    await signing.close();
  });

  it("notices that an object was replaced while it was read", async () => {
    await storage.write("replaced", randomBytes(3_000_000));
    const stream = storage.readStream("replaced", { concurrency: 2, blockSize: 500_000 });
    await assert.rejects(
      async () => {
        for await (const _ of stream) await storage.write("replaced", randomBytes(3_000_000));
      },
      { code: "precondition" },
    );
  });

  it("reads and writes only the expected object on request, and reports the conflict", () =>
    keepsToTheExpected(storage));

  it("creates a bucket once", async () => {
    const made = openStorage("gs://made-bucket", { ...config(), token: "t", project: "p" });
    await made.createBucket();
    assert.deepEqual((await vendor.bucket("made-bucket").exists())[0], true);
    const message = /^gs:\/\/made-bucket already exists/;
    await assert.rejects(made.createBucket(), { code: "precondition", status: 409, retryable: false, message });
    await made.close();
  });
});

describe("gs:// with generations", { skip, timeout: 60_000 }, () => {
  let server: GsServer;
  let storage: Storage;
  let vendor: Vendor;
  const bucket = "versioned-bucket";
  before(async () => {
    server = await startFakeGcsServer();
    vendor = new Vendor({ apiEndpoint: server.endpoint_url, projectId: "p" });
    await vendor.createBucket(bucket, { versioning: { enabled: true } });
    storage = openStorage(`gs://${bucket}`, { endpoint_url: server.endpoint_url, token: "anon", version_aware: true });
    for (const content of ["one", "two", "three"]) await storage.write("a", content);
    await storage.write("b", "gone");
    await storage.remove("b");
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  it("lists every generation, and which is the latest", async () => {
    const ours = await Array.fromAsync(storage.list(), ({ path, is_latest }) => `${path} ${is_latest}`);
    assert.deepEqual(ours.sort(), ["a false", "a false", "a true", "b false"]);
  });

  it("reads, stats, copies and removes one generation", async () => {
    const versions = await Array.fromAsync(storage.list({ prefix: "a" }));
    const contents = await Promise.all(versions.map(({ version }) => storage.readText("a", { version })));
    assert.deepEqual(contents.sort(), ["one", "three", "two"]);
    const old = versions.find(({ is_latest }) => !is_latest)?.version as string;
    const content = await storage.readText("a", { version: old });
    assert.equal((await storage.stat("a", { version: old })).version, old);
    await storage.copy("a", "restored", { version: old });
    assert.equal(await storage.readText("restored"), content);
    await storage.remove("a", { version: old });
    assert.equal(await storage.exists("a", { version: old }), false);
    assert.equal(await storage.readText("a"), "three");
  });

  it("reads a generation to its end, even if it is replaced meanwhile", async () => {
    const bytes = randomBytes(3_000_000);
    await storage.write("long", bytes);
    const pieces: Uint8Array[] = [];
    for await (const piece of storage.readStream("long", { concurrency: 2, blockSize: 500_000 })) {
      if (pieces.length === 0) await storage.write("long", "other");
      pieces.push(piece);
    }
    assert.ok(bytes.equals(Buffer.concat(pieces)));
  });

  it("lists only the latest on request", async () => {
    assert.ok((await Array.fromAsync(storage.list({ versions: false }))).every(({ is_latest }) => is_latest));
  });
});
