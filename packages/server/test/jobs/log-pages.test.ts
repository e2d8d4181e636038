/** Many requests for pages of logs: few pages are held at a time, callers take turns, and other work runs in between. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { LogSource } from "../../src/engines/engine.ts";
import { LogIndexes } from "../../src/job-logs/log-indexes.ts";
import { readLogLines } from "../../src/job-logs/log-lines.ts";
import { readLogPage } from "../../src/job-logs/log-pages.ts";
import { answering } from "../../src/turns/large-answers.ts";

const line = `${"x".repeat(99)}\n`;
const content = Buffer.from(line.repeat(30_000));

/** Counts, over all sources: reads, pages that are being read, and the most of these at a time. */
class Counts {
  reads = 0;
  readonly #open = new Map<string, number>();
  most = 0;
  mostOfOne = 0;

  begin(caller: string): void {
    this.#open.set(caller, (this.#open.get(caller) ?? 0) + 1);
    this.mostOfOne = Math.max(this.mostOfOne, this.#open.get(caller) ?? 0);
    this.most = Math.max(
      this.most,
      [...this.#open.values()].reduce((sum, each) => sum + each, 0),
    );
  }

  end(caller: string): void {
    this.#open.set(caller, (this.#open.get(caller) ?? 0) - 1);
  }
}

/** A log of a page and more. Its first read begins a page. */
function sourceOf(counts: Counts, caller: string): LogSource & { end(): void } {
  let hasBegun = false;
  return {
    size: async () => content.length,
    async read(offset, length) {
      const bytes = content.subarray(offset, offset + length);
      // A look at the end of the log, for more lines, holds nothing.
      if (bytes.length === 0) return bytes;
      if (!hasBegun) counts.begin(caller);
      hasBegun = true;
      counts.reads++;
      return bytes;
    },
    close: async () => {},
    end: () => hasBegun && counts.end(caller),
  };
}

const indexes = new LogIndexes();
const forms: Readonly<Record<string, (log: LogSource) => Promise<unknown>>> = {
  "as pieces": (log) => readLogPage(log, 0, true, 10_000),
  "as lines": async (log) => {
    const index = indexes.of(1, "log");
    return readLogLines({ log, ended: true, mask: async () => [], index } as never, 1, 10_000);
  },
};

describe("pages of a log", () => {
  for (const [form, read] of Object.entries(forms))
    it(`${form}: at most eight are read at a time, two of one caller, and other work runs between any two reads`, async () => {
      // The lines are counted once, for all.
      await read(sourceOf(new Counts(), "first"));
      const counts = new Counts();
      let iterations = 0;
      let isOver = false;
      const others = (async () => {
        for (; !isOver; iterations++) await turn();
      })();
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const caller = `caller ${index % 10}`;
          const source = sourceOf(counts, caller);
          return answering({ caller, hasGone: () => false }, () => read(source)).finally(() => source.end());
        }),
      );
      isOver = true;
      await others;
      assert.ok(counts.reads >= 100, `${counts.reads} reads`);
      assert.ok(iterations >= counts.reads, `${iterations} iterations of the event loop, ${counts.reads} reads`);
      assert.ok(counts.most <= 8, `${counts.most} at a time`);
      assert.ok(counts.mostOfOne <= 2, `${counts.mostOfOne} of one caller`);
    });
});
