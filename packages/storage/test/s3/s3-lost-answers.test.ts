/** Calls of s3:// that a real server carried out although the answer was lost. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ListMultipartUploadsCommand, ListPartsCommand } from "@aws-sdk/client-s3";
import { openStorage, type Storage } from "@millrace/storage";
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from "@millrace/testing/servers/fault-proxy.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { rejectsWith } from "../conformance.ts";

const skip = await whyNoVersitygw();

const isBeginning = ({ method, url }: ProxiedRequest) => method === "POST" && url.includes("?uploads=");
const isCompletion = ({ method, url }: ProxiedRequest) => method === "POST" && url.includes("uploadId=");
const isListOfUploads = ({ method, url }: ProxiedRequest) => method === "GET" && url.includes("uploads=");
const isPut = ({ method, url }: ProxiedRequest) => method === "PUT" && !url.includes("?");

describe("when the answer to a write is lost", { skip, timeout: 120_000 }, () => {
  let server: S3Server;
  let proxy: FaultProxy;
  let storage: Storage;
  /** Carries out the first request of this kind and drops its answer. */
  let lose: (request: ProxiedRequest) => boolean = () => false;
  let breakOff: (request: ProxiedRequest) => boolean = () => false;
  let isLate: (request: ProxiedRequest) => boolean = () => false;
  const Bucket = "lossy-bucket";
  before(async () => {
    server = await startVersitygw();
    await server.makeBucket(Bucket);
    proxy = await startFaultProxy(server.port, (request) => {
      if (breakOff(request)) {
        breakOff = () => false;
        return { kind: "break", at: 0.5, how: "reset" };
      }
      if (isLate(request)) return { kind: "late", pause: 4000 };
      if (!lose(request)) return undefined;
      lose = () => false;
      return { kind: "lose" };
    });
    storage = openStorage(`s3://${Bucket}`, { ...server.config, endpoint_url: proxy.url });
  });
  after(async () => {
    await storage?.close();
    await proxy?.stop();
    await server?.stop();
  });
  const twoParts = Buffer.alloc(6_000_000, "part");
  const uploadsLeft = async () => {
    const { Uploads = [] } = await server.vendor.send(new ListMultipartUploadsCommand({ Bucket }));
    return Uploads.map(({ Key }) => Key);
  };
  const hasPart = async (Key: string) => {
    const { Uploads = [] } = await server.vendor.send(new ListMultipartUploadsCommand({ Bucket }));
    const UploadId = Uploads.find((upload) => upload.Key === Key)?.UploadId;
    if (UploadId === undefined) return false;
    const { Parts = [] } = await server.vendor.send(new ListPartsCommand({ Bucket, Key, UploadId }));
    return Parts.length > 0;
  };

  it("a new object with a condition is written, and does not conflict with itself", async () => {
    lose = isPut;
    const { etag } = await storage.write("new", "content", { ifNoneMatch: "*" });
    assert.equal(etag, (await storage.stat("new")).etag);
    assert.equal(await storage.readText("new"), "content");
  });

  it("a conditional overwrite has succeeded", async () => {
    const { etag } = await storage.write("known", "first");
    lose = isPut;
    await storage.write("known", "second", { ifMatch: etag });
    assert.equal(await storage.readText("known"), "second");
  });

  it("an object that somebody else wrote is still a conflict", async () => {
    await storage.write("taken", "theirs");
    lose = isPut;
    await rejectsWith("precondition", storage.write("taken", "ours", { ifNoneMatch: "*" }));
  });

  it("an upload that was completed is complete, also with conditions", async () => {
    for (const options of [{}, { ifNoneMatch: "*" }] as const) {
      lose = isCompletion;
      const key = `complete ${Object.keys(options)}`;
      const { etag, size } = await storage.write(key, twoParts, options);
      const there = await storage.stat(key);
      assert.deepEqual([etag, size], [there.etag, twoParts.length]);
    }
  });

  it("an upload that was created twice is completed once and aborted once", async () => {
    lose = isBeginning;
    await storage.write("begun", twoParts);
    assert.ok(twoParts.equals(await storage.read("begun")));
    assert.deepEqual(await uploadsLeft(), []);
  });

  it("an upload that was created twice is found although the store's clock is reported late", async () => {
    lose = isBeginning;
    isLate = isListOfUploads;
    await storage.write("late", twoParts);
    isLate = () => false;
    assert.deepEqual(await uploadsLeft(), []);
  });

  it("an upload that was created twice is found although the answer that lists it breaks off at first", async () => {
    lose = isBeginning;
    breakOff = isListOfUploads;
    await storage.write("broken", twoParts);
    assert.deepEqual(await uploadsLeft(), []);
  });

  it("an upload that was created twice and then failed leaves none", async () => {
    lose = isBeginning;
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield twoParts;
      yield twoParts;
      throw new Error("the source broke");
    }
    await assert.rejects(storage.write("never", failing()), /the source broke/);
    assert.deepEqual(await uploadsLeft(), []);
  });

  it("an upload of somebody else is not touched", async () => {
    const slow = openStorage(`s3://${Bucket}`, server.config);
    const { promise: resume, resolve } = Promise.withResolvers<void>();
    async function* waiting(): AsyncGenerator<Uint8Array> {
      yield twoParts;
      yield twoParts;
      await resume;
      yield twoParts;
    }
    const theirs = slow.write("shared", waiting());
    while (!(await hasPart("shared"))) await new Promise(setImmediate);
    lose = isBeginning;
    await storage.write("shared", twoParts);
    resolve();
    assert.equal((await theirs).size, 3 * twoParts.length);
    await slow.close();
  });
});
