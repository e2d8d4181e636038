import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { encodeKey } from "../../src/address/url-encoding.ts";
import { lasting } from "../../src/concurrency/renewing.ts";
import type { Credentials } from "../../src/schemes/s3/credentials.ts";
import { createPresigner } from "../../src/schemes/s3/presigner.ts";
import { type Signable, Signer } from "../../src/schemes/s3/signature.ts";

/** Deterministic random numbers. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % sides;
  };
}

const letters = [..."abcXYZ019-._~/ +%?#&=:;,'()*!@$\"<>|\\^`{}[]äß漢😀e\u0301\u00a0\u3000"];

function requestOf(roll: (sides: number) => number): Signable {
  const text = (most: number) => Array.from({ length: roll(most) }, () => letters[roll(letters.length)]).join("");
  const spaces = () => " \t".repeat(roll(3));
  const some = (names: readonly string[], value: (name: string) => string) =>
    Object.fromEntries(names.filter(() => roll(2) === 0).map((name) => [name, value(name)]));
  const query = some(["versionId", "partNumber", "uploadId", "uploads", "list-type", "prefix", "start-after"], () =>
    text(30),
  );
  const headers = some(
    ["range", "if-match", "content-type", "x-amz-meta-a", "x-amz-acl", "cache-control", "x-amz-request-payer"],
    () => `${spaces()}${text(20)}${spaces()}${text(9)}`,
  );
  const host = "bucket.s3.eu-central-1.amazonaws.com";
  return {
    method: ["GET", "PUT", "POST", "DELETE", "HEAD"][roll(5)] as string,
    protocol: "https:",
    hostname: host,
    path: `/${encodeKey(text(40))}`,
    query,
    headers: { host, ...headers, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
  };
}

const key = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };

const theirs = (request: Signable, credentials: Credentials, now: number) =>
  createPresigner(lasting(credentials), "eu-central-1")
    .sign(structuredClone(request), { signingDate: new Date(now) })
    .then(({ headers }) => headers);

describe("a signed request of S3", () => {
  let credentials: Credentials;
  let signer: Signer;
  beforeEach(() => {
    credentials = key;
    signer = new Signer({ get: async () => credentials, renew: () => true }, "eu-central-1");
  });

  async function compare(request: Signable, now: number): Promise<void> {
    assert.deepEqual(await signer.sign(structuredClone(request), now), await theirs(request, credentials, now));
  }

  it("equals that of the vendor's signer, whatever is in its path, query and headers", async () => {
    const roll = dice(7);
    for (let count = 0; count < 2000; count += 1) {
      const day = Date.UTC(2026, roll(12), 1 + roll(28));
      await compare(requestOf(roll), day + roll(24 * 3600 * 1000));
    }
  });

  it("contains the session token", async () => {
    credentials = { ...key, sessionToken: "FwoGZXIvYXdzE//token==" };
    await compare(requestOf(dice(1)), Date.UTC(2026, 10, 15));
  });

  it("follows the second, the day and the credentials, although the signer caches keys", async () => {
    const request = requestOf(dice(3));
    const midnight = Date.UTC(2026, 10, 15);
    for (const now of [midnight - 1000, midnight - 1, midnight, midnight + 999, midnight + 1000]) {
      await compare(request, now);
    }
    credentials = { ...key, secretAccessKey: "another" };
    await compare(request, midnight + 1000);
  });
});
