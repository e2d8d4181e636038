/** Compares our caches with fsspec's: the same reads, and the ranges that each requests. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { CacheType } from "@millrace/storage";
import { runPython, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { createCache } from "../../src/random-access/create-cache.ts";

const skip = await whyNoPythonPackages();

const size = 300;
const content = Buffer.from(Array.from({ length: size }, (_, index) => index % 256));

interface Case {
  readonly cache: CacheType;
  readonly block: number;
  readonly reads: readonly (readonly [start: number, end: number])[];
}
type Range = readonly [start: number, end: number];

/** Reads that mostly continue where the last one ended and sometimes jump; deterministic. */
function* casesOf(cache: CacheType): Generator<Case> {
  let state = 7;
  const below = (limit: number) => {
    state = (state * 48271) % 2147483647;
    return state % limit;
  };
  for (let number = 0; number < 40; number += 1) {
    let at = 0;
    const reads = Array.from({ length: 15 }, (): Range => {
      const start = below(10) < 4 || at >= size ? below(size) : at;
      at = Math.min(size, start + 1 + below(below(3) === 0 ? 60 : 9));
      return [start, at];
    });
    yield { cache, block: [1, 4, 16, 50, 400][below(5)] as number, reads };
  }
}

const script = `
import json, sys
from fsspec.caching import caches
size = ${size}
content = bytes(i % 256 for i in range(size))
answers = []
for case in json.load(sys.stdin):
    asked = []
    def fetch(start, end):
        end = min(end, size)
        asked.append([start, end])
        return content[start:end]
    cache = caches[case["cache"]](case["block"], fetch, size)
    for start, end in case["reads"]:
        assert cache._fetch(start, end) == content[start:end]
    answers.append(asked)
print(json.dumps(answers))
`;

async function askedByOurs({ cache, block, reads }: Case): Promise<Range[]> {
  const asked: Range[] = [];
  const fetch = async (start: number, end: number) => {
    asked.push([start, end]);
    return content.subarray(start, end);
  };
  const opened = await createCache[cache]({ fetch, size, blockSize: block, options: {} });
  for (const [start, end] of reads) assert.ok(content.subarray(start, end).equals(await opened.read(start, end)));
  await opened.close?.();
  return asked;
}

async function askedByTheirs(cases: readonly Case[]): Promise<Range[][]> {
  return JSON.parse(await runPython(script, {}, JSON.stringify(cases))) as Range[][];
}

const bytesIn = (ranges: readonly Range[]) => ranges.reduce((sum, [start, end]) => sum + end - start, 0);

describe("compared with fsspec's own, our cache", { skip, timeout: 120_000 }, () => {
  const exact = ["none", "readahead", "bytes", "first", "blockcache", "all"] as const;
  const cases = [...exact, "mmap" as const].flatMap((cache) => [...casesOf(cache)]);
  let theirs: Range[][];
  before(async () => {
    theirs = await askedByTheirs(cases);
  });

  for (const cache of exact) {
    it(`${cache} requests the same ranges`, async () => {
      for (const [index, each] of cases.entries()) {
        if (each.cache === cache) assert.deepEqual(await askedByOurs(each), theirs[index], JSON.stringify(each));
      }
    });
  }

  it("mmap requests the same ranges, or fewer bytes: it omits a block that begins where a read ends", async () => {
    const pairs = [...cases.entries()].filter(([, { cache }]) => cache === "mmap");
    let same = 0;
    for (const [index, each] of pairs) {
      const [ours, original] = [await askedByOurs(each), theirs[index] as Range[]];
      assert.ok(bytesIn(ours) <= bytesIn(original), JSON.stringify(each));
      if (JSON.stringify(ours) === JSON.stringify(original)) same += 1;
    }
    assert.ok(same > pairs.length / 4, `only ${same} were the same`);
  });
});
