import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lasting } from "../src/renewing.ts";
import { createPresigner } from "../src/schemes/s3/presigner.ts";
import { type Signable, Signer } from "../src/schemes/s3/signature.ts";
import { encodeKey } from "../src/url-encoding.ts";

/** Numbers that are the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % sides;
  };
}

const letters = [..."abcXYZ019-._~/ +%?#&=:;,'()*!@$\"<>|\\^`{}[]äß漢😀e\u0301"];

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

async function compare(request: Signable, credentials: typeof key & { sessionToken?: string }, now: number) {
  const source = lasting(credentials);
  const theirs = await createPresigner(source, "eu-central-1").sign(structuredClone(request), {
    signingDate: new Date(now),
  });
  assert.deepEqual(await new Signer(source, "eu-central-1").sign(structuredClone(request), now), theirs.headers);
}

describe("a signed request of S3", () => {
  it("is the one that the vendor's signer makes, whatever is in its path, query and headers", async () => {
    const roll = dice(7);
    for (let count = 0; count < 2000; count += 1) {
      await compare(
        requestOf(roll),
        key,
        Date.UTC(2026, roll(12), 1 + roll(28), roll(24), roll(60), roll(60), roll(1000)),
      );
    }
  });

  it("tells the token of a session", async () => {
    await compare(requestOf(dice(1)), { ...key, sessionToken: "FwoGZXIvYXdzE//token==" }, Date.UTC(2026, 10, 15));
  });

  it("follows the time, the day and the credentials, of which the signer keeps what it can", async () => {
    const request = requestOf(dice(3));
    let current = key;
    const signer = new Signer({ get: async () => current, renew: () => true }, "eu-central-1");
    const sign = async (now: number) => (await signer.sign(structuredClone(request), now))["authorization"];
    const midnight = Date.UTC(2026, 10, 15);
    const seen = new Set([await sign(midnight - 1000), await sign(midnight - 999)]);
    assert.equal(seen.size, 1, "a second has one time");
    seen.add(await sign(midnight)).add(await sign(midnight + 1000));
    current = { ...key, secretAccessKey: "another" };
    seen.add(await sign(midnight + 1000));
    assert.equal(seen.size, 4);
    assert.match([...seen][1] ?? "", /Credential=AKIDEXAMPLE\/20261115\/eu-central-1\/s3\/aws4_request,/);
  });
});
