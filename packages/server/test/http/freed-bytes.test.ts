/** Memory of bytes that arrived is freed at once, and never memory that others use. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { beginCopied, endCopied, free, freeRead } from "../../src/http/connections/freed-bytes.ts";

describe("the memory of bytes", () => {
  it("is freed if it is theirs alone, whatever its size", () => {
    for (const size of [1, 4096, 65_535, 65_536, 65_537, Buffer.poolSize]) {
      const bytes = Buffer.from(new ArrayBuffer(size));
      free(bytes);
      assert.equal(bytes.length, 0, `${size} bytes`);
    }
  });

  it("is kept if it holds other bytes", () => {
    const bytes = Buffer.from(new ArrayBuffer(65_536));
    for (const part of [bytes.subarray(0, 65_535), bytes.subarray(1), Buffer.from("from a pool of Node")]) {
      const { length } = part;
      free(part);
      assert.equal(part.length, length);
    }
    assert.equal(bytes.length, 65_536);
  });

  it("of a read is freed while a body arrives, and at no other time", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [socket] = await accepted;
    const read = () => Buffer.from(new ArrayBuffer(65_536));
    const [before, during, after] = [read(), read(), read()];
    freeRead(socket, before);
    beginCopied(socket);
    freeRead(socket, during);
    endCopied(socket);
    freeRead(socket, after);
    assert.deepEqual([before.length, during.length, after.length], [65_536, 0, 65_536]);
    client.destroy();
    server.close();
  });
});
