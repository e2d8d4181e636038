/** A rule for all clouds: conditions apply to reads and to writes of any size, and a refusal says why. */
import assert from "node:assert/strict";
import type { Storage } from "@millrace/storage";

export async function keepsToTheExpected(storage: Storage): Promise<void> {
  const { etag } = await storage.write("expected", "first");
  const replaced = {
    code: "precondition",
    message: `${storage.uri}/expected: the object was replaced or removed: its ETag is no longer ${etag}; read the object again`,
  };
  const isThere = { code: "precondition", message: /\/expected: the object already exists/ };
  assert.equal(await storage.readText("expected", { ifMatch: etag }), "first");
  await storage.write("expected", "second");
  await assert.rejects(storage.read("expected", { ifMatch: etag }), replaced);
  for (const content of ["third", Buffer.alloc(9_000_000)]) {
    await assert.rejects(storage.write("expected", content, { ifMatch: etag }), replaced);
    await assert.rejects(storage.write("expected", content, { ifNoneMatch: "*" }), isThere);
  }
  assert.equal(await storage.readText("expected"), "second");
}
