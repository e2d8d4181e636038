import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { folderAbove, isLocal, isPattern, nameOf, unescaped } from "../src/storage/uri.ts";

describe("URIs of storages", () => {
  test("the parent folder is shown if it can be listed", () => {
    const above = ["a", "d/a", "d/a/", "/a", "s3://b/a", "s3://b/d/a", "s3://b", "s3://b/", "https://h/a"].map(
      folderAbove,
    );
    assert.deepEqual(above, [".", "d/", "d/", "/", "s3://b/", "s3://b/d/", undefined, undefined, undefined]);
  });

  test("a name has neither a slash nor a query", () => {
    assert.deepEqual(["d/a", "d/a/", "https://h/d/a?x=/y"].map(nameOf), ["a", "a", "a"]);
  });

  test("in a chain, the URI of the archive is not part of a name", () => {
    const [file, cached] = ["zip://d/a.csv::s3://b/x.zip", "simplecache::s3://b/d/a"];
    assert.deepEqual([file, cached, "tar://d/a::/x/y.tar", "s3://b/d/a::b"].map(nameOf), ["a.csv", "a", "a", "a::b"]);
    assert.equal(folderAbove(file), "zip://d/::s3://b/x.zip");
    assert.deepEqual([file, cached, "/d/a", "d/a::b", "file:///d"].map(isLocal), [false, false, true, true, true]);
  });

  test("a pattern counts as a name only if it has no wildcards", () => {
    assert.deepEqual(["\\[x\\]", "a\\*b", "\\[x]*", "a"].map(unescaped), ["[x]", "a*b", undefined, "a"]);
    assert.deepEqual(["a[b]", "{a,b}", "a", "https://h/a?b"].map(isPattern), [true, true, false, false]);
  });
});
