/** The scales of plots. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cpuShares } from "../src/jobs/cpu-shares.ts";
import { bytes } from "../src/look/bytes.ts";
import { roundUp, roundUpBytes, thin } from "../src/plots/scale.ts";

describe("plots", () => {
  it("the top of an axis is a round number", () => {
    assert.deepEqual([0, 1, 1.1, 3, 5, 7, 120, 0.03].map(roundUp), [1, 1, 2, 5, 5, 10, 200, 0.05]);
    assert.equal(roundUp(Number.NaN), 1);
  });

  it("a long series is thinned, and keeps its lowest and highest values", () => {
    const points = Array.from({ length: 5000 }, (_, at) => ({ at, value: at === 1234 ? 99 : at === 4321 ? -5 : 1 }));
    const few = thin(points, 200);
    assert.ok(few.length <= 200);
    assert.ok(few.some(({ value }) => value === 99) && few.some(({ value }) => value === -5));
    assert.deepEqual(
      few.map(({ at }) => at),
      few.map(({ at }) => at).toSorted((a, b) => a - b),
    );
  });

  it("a short series stays as it is", () => {
    const points = [{ value: 1 }, { value: 2 }];
    assert.equal(thin(points, 10), points);
  });
});

describe("sizes", () => {
  it("have few digits and a unit", () => {
    const shown = ["0 B", "1023 B", "1.5 KiB", "24 MiB", "1 MiB"];
    assert.deepEqual([0, 1023, 1536, 24 * 1024 ** 2, 1024 ** 2 - 1].map(bytes), shown);
  });

  it("end at a round number of their unit on an axis", () => {
    assert.deepEqual([0, 700, 1500, 300 * 1024 ** 2].map(roundUpBytes).map(bytes), [
      "1 B",
      "1000 B",
      "2 KiB",
      "500 MiB",
    ]);
  });
});

describe("CPU cores in use", () => {
  it("are the slope of the CPU time; a new attempt begins at zero", () => {
    const at = (second: number, cpu_seconds: number) => ({
      at: new Date(second * 1000).toISOString(),
      cpu_seconds,
      memory_bytes: 0,
      processes: 1,
    });
    assert.deepEqual(
      cpuShares([at(0, 1), at(2, 3), at(3, 3), at(4, 0.5)]).map(({ value }) => value),
      [1, 0, 0.5],
    );
  });
});
