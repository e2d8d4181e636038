/** What the log viewer reads from lines, and how it keeps and shows them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plainOf, spansOf } from "../src/logs/ansi.ts";
import { environmentFold, rowsOf } from "../src/logs/folds.ts";
import { timeOf } from "../src/logs/line-time.ts";
import { LogLines } from "../src/logs/log-lines.ts";
import { bottomTop, contentHeight, lastTop, scrollOf, topOf } from "../src/logs/log-window.ts";
import { Pace, progressOf } from "../src/logs/progress.ts";

describe("colours of terminals", () => {
  it("become spans of text", () => {
    assert.deepEqual(spansOf("a \x1b[1;31mb\x1b[0m c"), [
      { text: "a ", className: "" },
      { text: "b", className: "fg-1 bold" },
      { text: " c", className: "" },
    ]);
    assert.deepEqual(spansOf("\x1b[38;5;196mx\x1b[39my"), [
      { text: "x", className: "", color: "rgb(255 0 0)" },
      { text: "y", className: "" },
    ]);
    assert.equal(spansOf("\x1b[38;2;1;2;999mx")[0]?.color, "rgb(1 2 255)");
  });

  it("leave nothing else of escape sequences, whole or broken", () => {
    assert.equal(plainOf("\x1b[2K\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x1b[?25l\x1b(\x08!"), "link(!");
    assert.equal(plainOf("\x1b["), "[");
    assert.equal(plainOf("<b>&amp;"), "<b>&amp;");
  });
});

describe("progress", () => {
  it("of tqdm is a bar with its rate and the time left", () => {
    assert.deepEqual(progressOf("Reading:  45%|████▌     | 450/1000 [00:12<01:15, 36.52it/s]"), {
      label: "Reading",
      done: 450,
      total: 1000,
      count: "450/1000",
      rate: "36.52it/s",
      left: "1 min 15 s",
      isBar: true,
    });
    const bytes = progressOf(" 30%|███   | 1.2G/4.0G [00:12<00:28, 100MB/s, loss=0.3]");
    assert.deepEqual([bytes?.done, bytes?.total, bytes?.count, bytes?.label], [30, 100, "1.2G/4.0G", ""]);
    assert.equal(progressOf("  0%|          | 0/10 [00:00<?, ?it/s]")?.left, undefined);
  });

  it("of n/m needs words before it, and numbers that can be a part of a whole", () => {
    const done = (text: string) => progressOf(text)?.done;
    assert.deepEqual([done("Epoch 3/10"), done("step [45/100] loss 0.1"), done("Copied 7 / 9 files")], [3, 45, 7]);
    for (const text of [
      "11/17 was a Tuesday",
      "path a/b",
      "see docs/1/2.html",
      "ratio 9/4",
      "1/2",
      "v 1/1",
      "at 2026/11/17",
    ])
      assert.equal(progressOf(text), undefined, text);
  });

  it("of n/m gets its rate from when lines were seen", () => {
    const pace = new Pace();
    const at = (done: number, now: number) => {
      const progress = progressOf(`Epoch ${done}/100`);
      assert.ok(progress);
      return pace.measure(progress, now);
    };
    assert.equal(at(10, 0).rate, undefined);
    assert.deepEqual([at(30, 10_000).rate, at(30, 10_000).left], ["2.0/s", "35 s"]);
  });
});

describe("times at the beginning of lines", () => {
  it("are read in the usual forms", () => {
    assert.equal(timeOf("2026-11-17T10:00:00Z hello"), Date.UTC(2026, 10, 17, 10));
    assert.equal(timeOf("[2026-11-17 10:00:00.5+01:00] hello"), Date.UTC(2026, 10, 17, 9, 0, 0, 500));
    assert.equal(timeOf("2026-11-17 10:00:00,123 INFO x"), new Date(2026, 10, 17, 10, 0, 0, 123).getTime());
    assert.equal(timeOf("hello 2026-11-17T10:00:00Z"), undefined);
    assert.equal(timeOf("2026-99-17T10:00:00Z"), undefined);
  });
});

describe("the build of the environment", () => {
  const build = [
    "Building virtualenv with Python 3.12",
    "Resolved 3 packages in 1s",
    "Installed 3 packages",
    " + numpy==2.0",
  ];

  it("is folded to one row once the job's own lines follow", () => {
    const fold = environmentFold([...build, "hello"]);
    assert.deepEqual(fold, { from: 0, to: 3 });
    assert.equal(environmentFold(build), undefined);
    assert.equal(environmentFold(["hello", "world"]), undefined);
    const rows = rowsOf(10, fold);
    assert.deepEqual([rows.count, rows.lineOf(0), rows.lineOf(1), rows.rowOf(2), rows.rowOf(4)], [7, 0, 4, 0, 1]);
    assert.ok(rows.isFold(0) && !rows.isFold(1));
    assert.deepEqual([rowsOf(10, undefined).count, rowsOf(10, undefined).lineOf(3)], [10, 3]);
  });
});

describe("the window on a long log", () => {
  it("reaches the first and the last row of a billion", () => {
    for (const rows of [0, 5, 1000, 1_000_000_000]) {
      const extent = { rows, height: 600, wraps: false };
      const most = contentHeight(extent) - 600;
      assert.ok(most <= 12_000_000);
      assert.equal(topOf(extent, most), lastTop(extent));
      assert.equal(topOf(extent, 0), 0);
      assert.ok(Math.abs(topOf(extent, scrollOf(extent, rows / 2)) - Math.min(rows / 2, lastTop(extent))) < 0.01);
    }
  });

  it("ends at the last row, also when rows are wrapped", () => {
    assert.equal(bottomTop({ rows: 100, height: 100, wraps: true }, [20, 60, 20, 40]), 96 + 1 + 20 / 60);
    assert.equal(bottomTop({ rows: 2, height: 100, wraps: true }, [20, 20]), 0);
  });
});

/** A log as the server has it: lines, of which the last may be unfinished. */
class Served {
  readonly all: string[] = [];
  reads = 0;
  fails = false;
  isCounted = true;

  read = async (first: number | undefined, limit: number) => {
    this.reads++;
    if (this.fails) throw new Error("no connection");
    const total = this.all.length;
    const from = first ?? Math.max(1, total - limit + 1);
    const lines = this.all
      .slice(from - 1, from - 1 + Math.min(limit, 100))
      .map((text, index) => ({ offset: from + index, text }));
    const isKnown = this.isCounted;
    this.isCounted = true;
    return {
      first: isKnown ? from : null,
      lines,
      total: isKnown ? total : null,
      size: total,
      counted: total,
      complete: false,
    };
  };
}

const until = async (isSo: () => boolean) => {
  for (let left = 500; !isSo() && left > 0; left--) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(isSo());
};

describe("the lines that a page keeps", () => {
  it("are those that are shown, however long the log is", async () => {
    const served = new Served();
    for (let line = 1; line <= 100_000; line++) served.all.push(`line ${line}`);
    const lines = new LogLines(served.read);
    await lines.grow();
    assert.equal(lines.total, 100_000);
    for (let at = 0; at < 100_000; at += 5000) {
      lines.want(at, at + 50);
      await until(() => lines.at(at + 49)?.text === `line ${at + 50}`);
    }
    let kept = 0;
    for (let at = 0; at < 100_000; at++) kept += lines.at(at) ? 1 : 0;
    assert.ok(kept <= 17 * 256, `${kept} lines`);
  });

  it("the end is shown before the lines are counted", async () => {
    const served = new Served();
    served.all.push("a", "b");
    served.isCounted = false;
    const lines = new LogLines(served.read);
    let tail = 0;
    lines.subscribe(() => {
      if (lines.total === undefined) tail = lines.shown;
    });
    await lines.grow();
    assert.deepEqual([tail, lines.total, lines.at(1)?.text], [2, 2, "b"]);
  });

  it("none is lost or repeated when the log grows and the connection drops", async () => {
    const served = new Served();
    served.all.push("one", "tw");
    const lines = new LogLines(served.read);
    await lines.grow();
    served.all.splice(1, 1, "two", "thr");
    served.fails = true;
    const growing = lines.grow();
    await until(() => lines.error !== undefined);
    served.fails = false;
    await growing;
    served.all.splice(2, 1, "three");
    await lines.grow();
    assert.equal(lines.total, 3);
    assert.deepEqual(
      [0, 1, 2].map((at) => lines.at(at)?.text),
      ["one", "two", "three"],
    );
    assert.equal(lines.at(0)?.seen, undefined);
    assert.ok(lines.at(2)?.seen);
  });
});
