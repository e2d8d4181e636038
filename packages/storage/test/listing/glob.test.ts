import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry } from "@millrace/storage";
import { expandBraces } from "../../src/listing/braces.ts";
import { compileGlob, globEntries } from "../../src/listing/glob.ts";

const matches = (pattern: string, paths: readonly string[]) => paths.filter((path) => compileGlob(pattern).test(path));

describe("a pattern", () => {
  const paths = ["a", "ab", "a/b", "a/b/c", ".hidden", "a.b", "é", "🌊", "a-b", "a]b", "[x]"];

  it("stays within a folder with one star and with a question mark", () => {
    assert.deepEqual(matches("*", paths), ["a", "ab", ".hidden", "a.b", "é", "🌊", "a-b", "a]b", "[x]"]);
    assert.deepEqual(matches("?", paths), ["a", "é", "🌊"]);
    assert.deepEqual(matches("a?b", paths), ["a.b", "a-b", "a]b"]);
  });

  it("crosses any number of folders with two stars", () => {
    assert.deepEqual(matches("**/b", ["b", "a/b", "a/a/b", "ab", "a/bb"]), ["b", "a/b", "a/a/b"]);
    assert.deepEqual(matches("a/**", ["a", "a/b", "a/b/c", "b/a/c"]), ["a/b", "a/b/c"]);
    assert.deepEqual(matches("a/**/c", ["a/c", "a/b/c", "a/b/b/c", "ac", "a/bc"]), ["a/c", "a/b/c", "a/b/b/c"]);
  });

  it("accepts classes, ranges and negations, which never match a slash", () => {
    assert.deepEqual(matches("a[b-]*", ["ab", "a-b", "ac"]), ["ab", "a-b"]);
    assert.deepEqual(matches("[!a]", ["a", "b", "/"]), ["b"]);
    assert.deepEqual(matches("a[.-0]b", ["a/b", "a.b"]), ["a.b"]);
    assert.deepEqual(matches("a[]]b", paths), ["a]b"]);
  });

  it("treats all other characters, and those after a backslash, literally", () => {
    assert.deepEqual(matches("a.b", ["a.b", "axb"]), ["a.b"]);
    assert.deepEqual(matches("\\[x\\]", paths), ["[x]"]);
    assert.deepEqual(matches("a[b", ["a[b", "ab"]), ["a[b"]);
    assert.deepEqual(matches("(a|b)+$", ["(a|b)+$", "a"]), ["(a|b)+$"]);
  });

  it("lists only folders that can contain a match", async () => {
    const asked: string[] = [];
    const list = (prefix: string, recursive: boolean) => {
      asked.push(`${prefix}${recursive ? " and below" : ""}`);
      return ReadableStream.from<Entry>([]);
    };
    for (const pattern of ["data/2024/part-*.csv", "data/{a,b}/x", "data/**/x"]) {
      await Array.fromAsync(globEntries(list, pattern, {}));
    }
    assert.deepEqual(asked, ["data/2024/part-", "data/a/x", "data/b/x", "data/ and below"]);
  });
});

describe("braces", () => {
  it("contain alternatives, also nested", () => {
    assert.deepEqual(expandBraces("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
    assert.deepEqual(expandBraces("{a,b}{1,2}"), ["a1", "a2", "b1", "b2"]);
    assert.deepEqual(expandBraces("{,a}"), ["", "a"]);
  });

  it("contain ranges of numbers, with leading zeros", () => {
    assert.deepEqual(expandBraces("{1..3}"), ["1", "2", "3"]);
    assert.deepEqual(expandBraces("{08..10}"), ["08", "09", "10"]);
    assert.deepEqual(expandBraces("{3..1}"), ["3", "2", "1"]);
    assert.deepEqual(expandBraces("{-1..1}"), ["-1", "0", "1"]);
  });

  it("are literal if they contain no choice", () => {
    assert.deepEqual(expandBraces("{a}"), ["{a}"]);
    assert.deepEqual(expandBraces("a{b"), ["a{b"]);
  });
});
