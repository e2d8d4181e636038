import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultRetryPolicy, StorageError } from "@millrace/storage";
import { pauseAfter, retry } from "../../src/concurrency/retry.ts";
import { parseRetryAfter } from "../../src/http/client.ts";

const overloaded = (retryAfter?: number) => new StorageError("throttled", "too many", { retryAfter });

function patient() {
  const pauses: number[] = [];
  const wait = async (milliseconds: number) => void pauses.push(milliseconds);
  return { pauses, policy: { ...defaultRetryPolicy, wait } };
}

describe("retrying", () => {
  it("ends with the first success", async () => {
    const { policy, pauses } = patient();
    const run = async (attempt: number) => (attempt < 3 ? Promise.reject(overloaded()) : attempt);
    assert.equal(await retry(policy, undefined, run), 3);
    assert.equal(pauses.length, 2);
  });

  it("is not done for permanent errors", async () => {
    const { policy, pauses } = patient();
    for (const error of [new StorageError("not_found", "no"), new TypeError("a fault of ours")]) {
      await assert.rejects(
        retry(policy, undefined, () => Promise.reject(error)),
        error,
      );
    }
    assert.equal(pauses.length, 0);
  });

  it("waits at least as long as the store requested", async () => {
    const { policy, pauses } = patient();
    await retry(policy, undefined, async (attempt) => {
      if (attempt === 1) throw overloaded(7000);
    });
    assert.ok((pauses[0] as number) >= 7000);
  });

  it("waits longer each time, up to a limit, with jitter", () => {
    const longest = (attempt: number) =>
      Math.max(...Array.from({ length: 200 }, () => pauseAfter(defaultRetryPolicy, attempt)));
    assert.ok(longest(1) <= 100 && longest(4) <= 100 * 1.7 ** 3 && longest(30) <= 15_000);
    assert.ok(longest(4) > 100);
    assert.notEqual(pauseAfter(defaultRetryPolicy, 5), pauseAfter(defaultRetryPolicy, 5));
  });

  it("ends with the reason of a signal", async () => {
    const stop = new AbortController();
    const policy = { ...defaultRetryPolicy, firstPause: 60_000 };
    const waiting = retry(policy, stop.signal, () => Promise.reject(overloaded()));
    stop.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
  });
});

it("parses Retry-After as seconds or a date", () => {
  assert.equal(parseRetryAfter("3"), 3000);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:00:10 GMT", 4000), 6000);
  assert.equal(parseRetryAfter("soon"), undefined);
  assert.equal(parseRetryAfter(undefined), undefined);
});
