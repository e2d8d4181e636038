/** The vendor's own client reads what we write, and we read what it writes, on a real server. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { openStorage, type Storage } from "@millrace/storage";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { pathsOf, rejectsWith } from "../conformance.ts";
import { keepsToTheExpected } from "../support/expected-object.ts";
import { oddKeys } from "../support/odd-keys.ts";

const skip = await whyNoVersitygw();

describe("s3:// beside the vendor's client", { skip, timeout: 240_000 }, () => {
  let server: S3Server;
  let storage: Storage;
  const Bucket = "plain-bucket";
  before(async () => {
    server = await startVersitygw();
    await server.makeBucket(Bucket);
    storage = openStorage(`s3://${Bucket}`, server.config);
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });
  const vendorReads = async (Key: string) => {
    const { Body } = await server.vendor.send(new GetObjectCommand({ Bucket, Key }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const vendorWrites = (Key: string, Body: Uint8Array) =>
    server.vendor.send(new PutObjectCommand({ Bucket, Key, Body }));

  it("writes objects that the vendor's client reads, whole and in parts", async () => {
    for (const size of [0, 1, 1_000_000, 12_000_001]) {
      const bytes = randomBytes(size);
      await storage.write(`ours/${size}`, bytes, { concurrency: 3 });
      assert.ok(bytes.equals(await vendorReads(`ours/${size}`)), `${size} bytes`);
    }
  });

  it("reads objects that the vendor's client wrote", async () => {
    for (const size of [0, 1, 1_000_000]) {
      const bytes = randomBytes(size);
      const { ETag } = await vendorWrites(`theirs/${size}`, bytes);
      assert.ok(bytes.equals(await storage.read(`theirs/${size}`)), `${size} bytes`);
      assert.equal(`"${(await storage.stat(`theirs/${size}`)).etag}"`, ETag);
    }
  });

  it("uses the same keys as the vendor's client", async () => {
    const keys = Object.values(oddKeys).map((odd) => odd.key(0));
    const kept = keys.filter((key) => !key.includes("//") && !key.endsWith("/") && key.length < 255);
    for (const key of kept) {
      await storage.write(`odd/ours/${key}`, key);
      assert.equal((await vendorReads(`odd/ours/${key}`)).toString(), key);
      await vendorWrites(`odd/theirs/${key}`, Buffer.from(key));
      assert.equal(await storage.readText(`odd/theirs/${key}`), key);
    }
    const listed = await pathsOf(storage.list({ prefix: "odd/theirs/", recursive: true }));
    assert.deepEqual(listed, kept.map((key) => `odd/theirs/${key}`).sort());
  });

  it("keeps content type and metadata", async () => {
    for (const content of ["small", Buffer.alloc(11_000_000)]) {
      await storage.write("meta", content, { contentType: "text/csv", metadata: { Owner: "alice" } });
      const head = await server.vendor.send(new HeadObjectCommand({ Bucket, Key: "meta" }));
      assert.deepEqual([head.ContentType, head.Metadata], ["text/csv", { owner: "alice" }]);
    }
  });

  it("reads and writes only the expected object on request, and reports the conflict", () =>
    keepsToTheExpected(storage));

  it("copies between buckets with type and metadata", async () => {
    await server.makeBucket("other-bucket");
    const other = openStorage("s3://other-bucket", server.config);
    await storage.write("described", "x", { contentType: "text/csv", metadata: { owner: "alice" } });
    await other.copyFrom(storage, "described", "copy");
    await rejectsWith("not_found", other.copyFrom(storage, "absent", "never"));
    const head = await server.vendor.send(new HeadObjectCommand({ Bucket: "other-bucket", Key: "copy" }));
    assert.deepEqual([head.ContentType, head.Metadata], ["text/csv", { owner: "alice" }]);
    await other.close();
  });

  it("creates a bucket once", async () => {
    const made = openStorage("s3://made-bucket", server.config);
    await rejectsWith("not_found", made.write("a", "1"));
    await made.createBucket();
    await server.vendor.send(new HeadBucketCommand({ Bucket: "made-bucket" }));
    await made.write("a", "1");
    const message = /^s3:\/\/made-bucket already exists/;
    await assert.rejects(made.createBucket(), { code: "precondition", status: 409, retryable: false, message });
    await made.close();
  });

  it("leaves no upload behind when a write fails or is stopped", async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 12; piece += 1) yield Buffer.alloc(1_000_000);
      throw new Error("broken");
    }
    await assert.rejects(storage.write("never", failing(), { concurrency: 2 }), /broken/);
    const stop = new AbortController();
    async function* stopping(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 12; piece += 1) yield Buffer.alloc(1_000_000);
      stop.abort(new Error("enough"));
      yield Buffer.alloc(6_000_000);
    }
    await assert.rejects(storage.write("never", stopping(), { signal: stop.signal }), /enough/);
    const { Uploads = [] } = await server.vendor.send(new ListMultipartUploadsCommand({ Bucket }));
    assert.deepEqual(Uploads, []);
    assert.equal(await storage.exists("never"), false);
  });

  it("refuses parts that the store would refuse", async () => {
    const small = openStorage(`s3://${Bucket}`, { ...server.config, default_block_size: 1_000_000 });
    await rejectsWith("invalid", small.write("never", Buffer.alloc(6_000_000)));
    await small.write("whole", Buffer.alloc(4_000_000));
    await small.close();
  });

  it("lists thousands of keys in parallel, each once", async () => {
    const keys: string[] = [];
    for (let folder = 0; folder < 5; folder += 1) {
      await mkdir(join(server.data, Bucket, `many/${folder}`), { recursive: true });
      for (let file = 0; file < 900; file += 1) keys.push(`many/${folder}/${file}`);
    }
    await Promise.all(keys.map((key) => writeFile(join(server.data, Bucket, key), "")));
    assert.deepEqual(await pathsOf(storage.list({ prefix: "many/", recursive: true })), keys.toSorted());
  });

  it("creates URLs that work without credentials, to read and to write, until they are modified", async () => {
    const url = await storage.presign("signed a+b", { method: "PUT", expiresIn: 60 });
    const body = "by way of a URL";
    assert.equal((await fetch(url, { method: "PUT", body })).status, 200);
    assert.equal(await (await fetch(await storage.presign("signed a+b"))).text(), body);
    assert.equal((await fetch((await storage.presign("signed a+b")).replace("a%2Bb", "c"))).status, 403);
  });

  it("reports permission for a wrong secret and for no credentials, with the store's request id", async () => {
    const wrong = openStorage(`s3://${Bucket}`, { ...server.config, secret: "wrong" });
    await assert.rejects(wrong.read("ours/1"), { code: "permission", retryable: false, bucket: Bucket, key: "ours/1" });
    await assert.rejects(wrong.read("ours/1"), (error: { requestId?: string }) => Boolean(error.requestId));
    const anonymous = openStorage(`s3://${Bucket}`, { endpoint_url: server.config.endpoint_url, anon: true });
    await rejectsWith("permission", anonymous.read("ours/1"));
    await rejectsWith("not_found", openStorage("s3://no-such-bucket", server.config).read("x"));
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
});

describe("s3:// with versions", { skip, timeout: 60_000 }, () => {
  let server: S3Server;
  let storage: Storage;
  const Bucket = "versioned-bucket";
  before(async () => {
    server = await startVersitygw();
    await server.makeBucket(Bucket, { versioned: true });
    storage = openStorage(`s3://${Bucket}`, { ...server.config, version_aware: true });
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
    const { Versions = [] } = await server.vendor.send(new ListObjectVersionsCommand({ Bucket }));
    assert.deepEqual(
      ours,
      Versions.map(({ Key, VersionId, IsLatest }) => [Key, VersionId, IsLatest]),
    );
    assert.equal(ours.filter(([path, , latest]) => path === "a" && latest).length, 1);
    assert.equal(ours.filter(([path, , latest]) => path === "b" && latest).length, 0);
  });

  it("reads, stats and removes one version", async () => {
    const versions = await Array.fromAsync(storage.list({ prefix: "a" }));
    const contents = await Promise.all(versions.map(({ version }) => storage.readText("a", { version })));
    assert.deepEqual(contents.sort(), ["one", "three", "two"]);
    const old = versions.find(({ is_latest }) => !is_latest)?.version as string;
    assert.equal((await storage.stat("a", { version: old })).version, old);
    await storage.remove("a", { version: old });
    assert.equal(await storage.exists("a", { version: old }), false);
    assert.equal(await storage.readText("a"), "three");
  });

  it("lists only the latest on request", async () => {
    assert.deepEqual(await pathsOf(storage.list({ versions: false })), ["a"]);
  });
});
