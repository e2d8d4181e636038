/** The conformance suite on Ceph RGW, which accepts every key, and what only it supports. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PutBucketAclCommand, PutBucketRequestPaymentCommand } from "@aws-sdk/client-s3";
import { openStorage } from "@millrace/storage";
import { s3Scheme } from "../../src/schemes/s3/scheme.ts";
import { conformance, pathsOf, rejectsWith } from "../conformance.ts";
import { type CephServer, startCephRgw, whyNoCephRgw } from "../support/ceph-rgw.ts";

const skip = await whyNoCephRgw();
let server: CephServer;
before(async () => {
  if (!skip) server = await startCephRgw();
});
after(() => server?.stop());

let buckets = 0;
function newBucket(options?: { versioned: boolean }): Promise<string> {
  buckets += 1;
  return server.makeBucket(`bucket-${buckets}`, options);
}

conformance(
  "s3:// on Ceph RGW",
  {
    capabilities: s3Scheme.capabilities,
    // It compares the ETag including its quotes.
    neverMatches: true,
    open: async () => openStorage(`s3://${await newBucket()}/some/prefix`, server.config),
  },
  skip,
);

describe("s3:// on Ceph RGW", { skip, timeout: 240_000 }, () => {
  it("lets others read a requester-pays bucket only if they agree to pay", async () => {
    const Bucket = await newBucket();
    const owner = openStorage(`s3://${Bucket}`, {
      ...server.config,
      s3_additional_kwargs: { ACL: "authenticated-read" },
    });
    const big = Buffer.alloc(11_000_000, "paid");
    await owner.write("folder/small", "paid");
    await owner.write("folder/big", big);
    await server.vendor.send(new PutBucketAclCommand({ Bucket, ACL: "authenticated-read" }));
    const RequestPaymentConfiguration = { Payer: "Requester" } as const;
    await server.vendor.send(new PutBucketRequestPaymentCommand({ Bucket, RequestPaymentConfiguration }));

    const refused = openStorage(`s3://${Bucket}`, server.stranger);
    await rejectsWith("permission", refused.read("folder/small"));
    await rejectsWith("permission", refused.stat("folder/small"));
    await rejectsWith("permission", pathsOf(refused.list()));

    const paying = openStorage(`s3://${Bucket}`, { ...server.stranger, requester_pays: true });
    assert.equal(await paying.readText("folder/small"), "paid");
    assert.equal((await paying.stat("folder/small")).size, 4);
    assert.deepEqual(await pathsOf(paying.list({ recursive: true })), ["folder/big", "folder/small"]);
    assert.ok(big.equals(await paying.read("folder/big", { concurrency: 4, blockSize: 3_000_000 })));
    assert.equal(await owner.readText("folder/small"), "paid");
    await Promise.all([owner.close(), refused.close(), paying.close()]);
  });

  it("keeps keys of 1,024 bytes", async () => {
    const storage = openStorage(`s3://${await newBucket()}`, server.config);
    for (const key of ["k".repeat(1024), "é".repeat(512), "🌊".repeat(256), `${"s".repeat(511)}//${"t".repeat(511)}`]) {
      await storage.write(key, "long");
      assert.equal(await storage.readText(key), "long");
      assert.deepEqual(await pathsOf(storage.list({ recursive: true })), [key]);
      await storage.remove(key);
    }
    await storage.close();
  });

  it("keeps versions, also of unusual keys", async () => {
    const storage = openStorage(`s3://${await newBucket({ versioned: true })}`, {
      ...server.config,
      version_aware: true,
    });
    for (const key of ["plain", "a//b", "it's + 100%\n🌊", "x", "x/y"]) {
      const first = await storage.write(key, "first");
      await storage.write(key, "second");
      const versions = await Array.fromAsync(storage.list({ recursive: true }));
      const ofKey = versions.filter(({ path }) => path === key);
      assert.deepEqual(ofKey.map(({ is_latest }) => is_latest).sort(), [false, true]);
      const old = ofKey.find(({ is_latest }) => !is_latest);
      assert.equal(old?.version, first.version);
      assert.equal(await storage.readText(key, { version: first.version }), "first");
      await storage.remove(key);
      assert.equal(await storage.exists(key), false);
      await storage.copy(key, `back/${key}`, { version: first.version });
      assert.equal(await storage.readText(`back/${key}`), "first");
      await storage.remove(key, { version: first.version });
      await rejectsWith("not_found", storage.read(key, { version: first.version }));
    }
    await storage.close();
  });

  it("signs URLs that work without credentials, and only unmodified", async () => {
    const storage = openStorage(`s3://${await newBucket()}`, server.config);
    for (const key of ["plain", "a//b", "it's + 100%\n🌊?#"]) {
      const put = await fetch(await storage.presign(key, { method: "PUT" }), { method: "PUT", body: key });
      assert.equal(put.status, 200);
      const url = await storage.presign(key);
      assert.equal(await (await fetch(url)).text(), key);
      assert.equal((await fetch(url.replace(/(X-Amz-Signature=)./, "$1!"))).status, 403);
    }
    await storage.close();
  });

  it("leaves no upload behind when a source fails", async () => {
    const Bucket = await newBucket();
    const storage = openStorage(`s3://${Bucket}`, server.config);
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(12_000_000);
      throw new Error("the source broke");
    }
    await assert.rejects(storage.write("never", failing()), /the source broke/);
    assert.equal(await server.unfinishedUploads(Bucket), 0);
    await storage.close();
  });
});
