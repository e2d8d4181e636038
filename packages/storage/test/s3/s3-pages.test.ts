/** Pages of listings as different stores write them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPage } from "../../src/schemes/s3/page-bytes.ts";

const entriesOf = (xml: string, name = "Contents") => readPage(Buffer.from(xml), name).entries;

describe("a page of a listing", () => {
  it("has entries with all their metadata", () => {
    const xml = `<?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name><EncodingType>url</EncodingType>
      <Contents><Key>a%2Fb+c%0A%C3%A9</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>
      <ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><ChecksumAlgorithm>CRC32</ChecksumAlgorithm>
      <Size>5000000000</Size><Owner><ID>i</ID><DisplayName>d</DisplayName></Owner><StorageClass>S</StorageClass>
      </Contents><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;u</NextContinuationToken></ListBucketResult>`;
    const { entries, members } = readPage(Buffer.from(xml), "Contents");
    const etag = "0123456789abcdef0123456789abcdef";
    const last_modified = new Date("2026-01-02T03:04:05.678Z");
    const told = { path: "a/b c\né", size: 5_000_000_000, etag, version: "", is_latest: true, last_modified };
    assert.deepEqual(entries, [{ ...told, type: "file" }]);
    assert.deepEqual([members["IsTruncated"], members["NextContinuationToken"]], ["true", "t&u"]);
  });

  it("may write quotes and dates in other ways", () => {
    const page = (etag: string, date: string) =>
      entriesOf(`<R><Contents><ETag>${etag}</ETag><LastModified>${date}</LastModified></Contents></R>`)[0];
    for (const etag of ["&quot;ab-2&quot;", "&#34;ab-2&#34;", '"ab-2"', "ab-2"]) {
      assert.equal(page(etag, "2026-01-02T03:04:05Z")?.etag, "ab-2");
    }
    assert.equal(page("", "")?.etag, "");
    assert.equal(page("x", "2026-01-02T03:04:05Z")?.last_modified?.getTime(), Date.UTC(2026, 0, 2, 3, 4, 5));
  });

  it("has every entry, however long its metadata is", () => {
    const digest = "0123456789abcdef".repeat(4);
    const entry = (key: number, etag: string, date: string) =>
      `<Contents><ETag>${etag}</ETag><Key>${key}</Key><LastModified>${date}</LastModified><Size>1</Size></Contents>`;
    for (const quote of ["", '"', "&quot;", "&#34;"]) {
      for (let length = 0; length <= digest.length; length += 1) {
        const etag = quote + digest.slice(0, length) + quote;
        const contents = Array.from({ length: 120 }, (_, key) => entry(key, etag, "2026-01-02T03:04:05Z"));
        const entries = entriesOf(`<R>${contents.join("")}</R>`);
        assert.deepEqual(
          entries.map(({ path, etag }) => [path, etag]),
          contents.map((_, key) => [String(key), digest.slice(0, length)]),
        );
      }
    }
  });

  it("may have encoded keys in which XML encoded some letters again", () => {
    const xml = `<R><EncodingType>url</EncodingType><Contents><Key>a&apos;b%26c&amp;d</Key></Contents></R>`;
    assert.equal(entriesOf(xml)[0]?.path, "a'b&c&d");
  });

  it("may have plain keys, with entities", () => {
    assert.equal(entriesOf("<R><Contents><Key>a&amp;b%2F&lt;é🌊</Key></Contents></R>")[0]?.path, "a&b%2F<é🌊");
  });

  it("may have folders, and elements whose names begin like those of its entries", () => {
    const xml = `<R><CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><Version><Key>k</Key><VersionId>null</VersionId>
      <IsLatest>false</IsLatest></Version><DeleteMarker><Key>gone</Key></DeleteMarker>
      <Version><Key>k</Key><VersionId>v1</VersionId><IsLatest>true</IsLatest></Version></R>`;
    assert.deepEqual(
      entriesOf(xml, "Version").map(({ path, version, is_latest, type }) => [path, version, is_latest, type]),
      [
        ["k", "", false, "file"],
        ["k", "v1", true, "file"],
        ["a/", "", true, "directory"],
      ],
    );
  });

  it("that is truncated or empty ends the walk", () => {
    for (const xml of ["", "<R>", "<R><Contents><Key>a", "<R><Contents><Key>a</Key><Size", "no xml at all <"]) {
      assert.ok(entriesOf(xml).length <= 1);
    }
  });
});
