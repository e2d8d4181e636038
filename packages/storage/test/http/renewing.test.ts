import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renewing } from "../../src/concurrency/renewing.ts";

const minute = 60_000;
const credentials = (accessKeyId: string, expires?: number) => ({
  accessKeyId,
  secretAccessKey: "s",
  ...(expires === undefined ? {} : { expiration: new Date(expires) }),
});

describe("credentials", () => {
  it("are requested once by many concurrent callers", async () => {
    let asked = 0;
    const source = renewing(async () => {
      asked += 1;
      return credentials("k");
    });
    await Promise.all([source.get(), source.get(), source.get()]);
    await source.get();
    assert.equal(asked, 1);
  });

  it("are renewed before they expire", async () => {
    let now = 0;
    let asked = 0;
    const load = async () => {
      asked += 1;
      return credentials(`k${asked}`, now + 60 * minute);
    };
    const source = renewing(load, () => now);
    assert.equal((await source.get()).accessKeyId, "k1");
    now = 54 * minute;
    assert.equal((await source.get()).accessKeyId, "k1");
    now = 56 * minute;
    assert.equal((await source.get()).accessKeyId, "k2");
  });

  it("that could not be obtained are requested again", async () => {
    let asked = 0;
    const source = renewing(async () => {
      asked += 1;
      if (asked === 1) throw new Error("the service is down");
      return credentials("k");
    });
    await assert.rejects(source.get(), /down/);
    assert.equal((await source.get()).accessKeyId, "k");
  });

  it("that the store reports as expired are requested again", async () => {
    let asked = 0;
    const source = renewing(async () => {
      asked += 1;
      return credentials(`k${asked}`);
    });
    await source.get();
    assert.equal(source.renew(), true);
    assert.equal((await source.get()).accessKeyId, "k2");
  });
});
