/** URIs of the storage browser. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { childUri, crumbsOf } from "../src/storage/storage-uri.ts";

describe("a URI of a storage", () => {
  it("has the folders above it", () => {
    assert.deepEqual(crumbsOf("s3://bucket/a b/c%20/"), [
      { name: "s3://", uri: "s3://" },
      { name: "bucket", uri: "s3://bucket" },
      { name: "a b", uri: "s3://bucket/a b" },
      { name: "c%20", uri: "s3://bucket/a b/c%20" },
    ]);
    assert.deepEqual(crumbsOf("file:///data/x").at(-1), { name: "x", uri: "file:///data/x" });
    assert.deepEqual(crumbsOf("s3://"), [{ name: "s3://", uri: "s3://" }]);
  });

  it("has URIs of what is in it", () => {
    assert.equal(childUri("s3://bucket", "a"), "s3://bucket/a");
    assert.equal(childUri("s3://bucket/b/", "a"), "s3://bucket/b/a");
    assert.equal(childUri("s3://", "bucket"), "s3://bucket");
    assert.equal(childUri("file:///", "data"), "file:///data");
  });
});
