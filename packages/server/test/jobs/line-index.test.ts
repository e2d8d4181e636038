/** Lines of a log: how they are cut, counted, and found by regular expressions in linear time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Random } from "@millrace/testing/random.ts";
import { LineCutter } from "../../src/logs/line-cutter.ts";
import { LineIndex } from "../../src/logs/line-index.ts";
import { LineReader, lastLines } from "../../src/logs/line-reader.ts";
import { searchLines } from "../../src/logs/line-search.ts";
import { lineText, plainText } from "../../src/logs/line-text.ts";
import { LinearPattern, PatternTooLarge } from "../../src/logs/linear-pattern.ts";

const sourceOf = (bytes: Buffer) => ({
  read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
});

/** Text of lines of every kind: long, empty, with CR, with CRLF, with characters of several bytes. */
function anyLog(random: Random, parts: number): Buffer {
  const kinds = [
    "a line\n",
    "\n",
    "0%\r",
    "50%\r100%\r\n",
    "ü€😀".repeat(3000),
    "x".repeat(20_000),
    "\r\r\n",
    "end\r\n",
  ];
  return Buffer.from(Array.from({ length: parts }, () => random.pick(kinds)).join(""));
}

describe("lines of a log", () => {
  it("depend on the bytes alone, not on how they are read", () => {
    for (let seed = 0; seed < 30; seed++) {
      const random = new Random(seed);
      const log = anyLog(random, 40);
      const whole = new LineCutter(0).cut(log);
      const cutter = new LineCutter(0);
      const ends: number[] = [];
      while (cutter.at < log.length)
        ends.push(...cutter.cut(log.subarray(cutter.at, cutter.at + 1 + random.below(9000))));
      assert.deepEqual(ends, whole);
      for (const end of whole) assert.notEqual((log[end] ?? 0) & 0xc0, 0x80, "a character was cut");
    }
  });

  it("are shown as a terminal shows them: the last version of a progress bar", () => {
    const texts = (log: string) => {
      const bytes = Buffer.from(log);
      let start = 0;
      return new LineCutter(0).cut(bytes).map((end) => {
        const text = lineText(bytes.subarray(start, end));
        start = end;
        return text;
      });
    };
    assert.deepEqual(texts("a\nb\r\n\n 1%\r 2%\r\n\r3%\r\r\n"), ["a", "b", "", " 2%", "3%"]);
    assert.equal(lineText(Buffer.from("10%\r20%")), "20%");
  });

  it("are found by number, through an index that stays small", async () => {
    const log = Buffer.from(
      Array.from({ length: 200_000 }, (_, n) => `line ${n}${n % 7 ? "" : `\rline ${n}`}\n`).join(""),
    );
    const index = new LineIndex();
    for (let at = 0; at < log.length; at += 100_000) index.take(log.subarray(at, at + 100_000));
    assert.equal(index.lines, 200_000);
    assert.ok(index.marks < log.length / 60_000, `${index.marks} marks`);
    for (const line of [0, 1, 777, 123_456, 199_999]) {
      const place = index.near(line);
      assert.ok(place.line <= line);
      const { lines } = await new LineReader(sourceOf(log), place).next();
      assert.equal(lineText(lines[line - place.line]?.bytes ?? Buffer.alloc(0)), `line ${line}`);
    }
  });

  it("at the end are read without counting those before them", async () => {
    const log = Buffer.from(`${"a line of text\n".repeat(100_000)}last\nopen`);
    const lines = await lastLines(sourceOf(log), log.length, 3);
    assert.deepEqual(
      lines?.map(({ bytes }) => lineText(bytes)),
      ["a line of text", "last", "open"],
    );
    assert.equal((await lastLines(sourceOf(log), log.length, 0))?.length, 0);
    assert.equal(await lastLines(sourceOf(Buffer.alloc(1_000_000)), 1_000_000, 3), undefined);
  });

  it("lose their colours and links for a search", () => {
    assert.equal(plainText("\x1b[1;31merr\x1b[0mor \x1b]8;;http://x\x07link\x1b]8;;\x07"), "error link");
  });
});

describe("regular expressions", () => {
  const patterns = [
    "abc",
    "a*b",
    "(a|b)+c",
    "^a",
    "b$",
    "^$",
    "\\d+",
    "[a-c]{2,3}x?",
    "[^ab]",
    "a.c",
    "\\bab\\b",
    "a\\Bb",
    "(?:ab){2}",
    "x|^b|c$",
    "\\w+\\s\\w+",
    "a+?b",
    "[\\d-]",
    "(a*)*b",
    "()",
    "a{0}b",
    "\\x61\\u0062",
    "(?<n>a)b",
    "[ab]\\$",
  ];

  it("match as those of JavaScript do", () => {
    const random = new Random(7);
    for (const pattern of patterns) {
      for (const ignoreCase of [false, true]) {
        const ours = new LinearPattern(pattern, { ignoreCase });
        const theirs = new RegExp(pattern, ignoreCase ? "mi" : "m");
        for (let round = 0; round < 200; round++) {
          const text = Array.from({ length: random.below(9) }, () => random.pick([..."abcABx1 -$\n"])).join("");
          const lines = text.split("\n");
          assert.equal(
            ours.test(text),
            lines.some((line) => theirs.test(line)),
            `${pattern} on ${JSON.stringify(text)}`,
          );
        }
      }
    }
  });

  it("with what cannot be matched in linear time are refused", () => {
    for (const pattern of ["(a)\\1", "(?=a)", "(?<!a)b", "\\p{L}", "a{2,1}", "(", ")", "[a", "*", "a**", "\\"]) {
      assert.throws(() => new LinearPattern(pattern), SyntaxError, pattern);
    }
    // Parts that match nothing cost time, too.
    for (const pattern of ["(a{1,50}){50}", "(((){9999}){9999}){9999}", "((a{0}){9999}){9999}", "((?:){9999}){9999}"])
      assert.throws(() => new LinearPattern(pattern), PatternTooLarge, pattern);
  });

  it("end a test that would take too long, however long the line and large the classes of characters", () => {
    const random = new Random(2);
    const text = Array.from({ length: 131_072 }, () => random.pick(["a", "b"])).join("");
    for (const hostile of ["a.{390}Z", `a[${"\\s".repeat(200)}\\S]{390}Z`]) {
      const pattern = new LinearPattern(hostile);
      assert.throws(() => pattern.test(text), PatternTooLarge, hostile);
      assert.ok(pattern.work < 100_000_000, `${pattern.work} steps of work`);
    }
  });

  it("take linear time, however hostile they are", () => {
    const text = "a".repeat(16_000);
    for (const pattern of ["(a+)+$b", "(a|aa)*b", "(.*)*x", "(a?){80}a{80}b", "(a|b|ab)*c"]) {
      const ours = new LinearPattern(pattern);
      const start = performance.now();
      assert.equal(ours.test(text), false);
      const took = performance.now() - start;
      assert.ok(took < 2000, `${pattern}: ${took} ms`);
    }
  });

  it("report their work, so that a search can pause", () => {
    const random = new Random(1);
    const text = Array.from({ length: 3000 }, () => random.pick(["a", "b"])).join("");
    const pattern = new LinearPattern("a.{60}b.{60}a.{60}c");
    pattern.test(text);
    assert.ok(pattern.work > 3000 * 30, String(pattern.work));
  });
});

describe("a search", () => {
  it("pauses after a bounded number of lines, fewer if each must be masked again", async () => {
    const longest = async (line: string) => {
      const log = Buffer.from(line.repeat(40_000));
      let since = 0;
      let most = 0;
      const looked = () => {
        since++;
        most = Math.max(most, since);
      };
      const matcher = {
        work: 0,
        test: (text: string) => {
          if (text.length < 10) looked();
          return text.length > 10;
        },
      };
      const mayGoOn = async () => {
        since = 0;
        return true;
      };
      const mask = (text: string) => text;
      await searchLines(sourceOf(log), { from: 0, place: { line: 0, offset: 0 }, matcher, mask }, { hits: 1, mayGoOn });
      return most;
    };
    assert.ok((await longest("ab\n")) <= 5000);
    assert.ok((await longest("\x1bM\n")) <= 500);
  });
});
