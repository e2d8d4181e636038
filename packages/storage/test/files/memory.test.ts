import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openStorage } from "@millrace/storage";
import { open } from "../../src/schemes/memory/open.ts";
import { memoryScheme } from "../../src/schemes/memory/scheme.ts";
import { conformance } from "../conformance.ts";

let opened = 0;

conformance("memory://", {
  capabilities: memoryScheme.capabilities,
  async open() {
    opened += 1;
    return openStorage(`memory://place-${opened}`);
  },
});

describe("memory://", () => {
  it("keeps what was written, whatever happens to the buffer, or to one that was read", async () => {
    const storage = openStorage("memory://buffers");
    for (const bytes of [Buffer.from("abc"), new Uint8Array([97, 98, 99])]) {
      await storage.write("a", bytes);
      bytes.fill(0);
      (await storage.read("a")).fill(0);
      for await (const piece of storage.readStream("a")) piece.fill(0);
      assert.equal(await storage.readText("a"), "abc");
    }
  });

  it("keeps the parts of an upload, whatever happens to their buffer", async () => {
    const upload = await open().upload("buffers/parts", {});
    const buffer = Buffer.from("ab");
    await upload.put(1, buffer);
    buffer.write("cd");
    await upload.put(2, buffer);
    buffer.fill(0);
    await upload.finish();
    const storage = openStorage("memory://buffers");
    (await storage.read("parts")).fill(0);
    assert.equal(await storage.readText("parts"), "abcd");
  });
});
