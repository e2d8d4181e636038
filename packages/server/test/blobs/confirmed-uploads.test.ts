/** What the storage only says that it has stored, and whose files wait for whose. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { openStorage, type Storage } from "@millrace/storage";
import { BlobsUnavailable } from "../../src/blobs/blobs.ts";
import { UriBlobs } from "../../src/blobs/uri-blobs.ts";
import { LogArchive } from "../../src/job-logs/log-archive.ts";
import { temporaryFolder } from "./blobs-conformance.ts";

describe("a storage behind something that answers 200 to every request", () => {
  for (const page of ["", "<html>Please sign in</html>"])
    it(`with ${page === "" ? "nothing" : "a page"} loses no log and acknowledges no upload`, async (t) => {
      const portal = createServer((request, response) => {
        request.resume().on("end", () => response.writeHead(200, { "content-length": page.length }).end(page));
      });
      await once(portal.listen(0, "127.0.0.1"), "listening");
      const folder = await temporaryFolder("portal");
      const environment = {
        AWS_ENDPOINT_URL: `http://127.0.0.1:${(portal.address() as AddressInfo).port}`,
        AWS_ACCESS_KEY_ID: "a",
        AWS_SECRET_ACCESS_KEY: "b",
        AWS_REGION: "us-east-1",
      };
      const storage = openStorage("s3://bucket/place/", undefined, { environment });
      const blobs = new UriBlobs(storage, { copies: `${folder.path}/copies`, mark: `${folder.path}/mark` });
      t.after(async () => {
        await blobs.close();
        portal.closeAllConnections();
        portal.close();
        await folder.remove();
      });
      const confirmed = (error: unknown) => {
        assert.ok(error instanceof BlobsUnavailable, String(error));
        assert.match(error.message, /confirmed that it stored/);
        return true;
      };
      await assert.rejects(blobs.put("files/one", Readable.from([Buffer.from("an upload")])), confirmed);
      const log = join(folder.path, "log");
      await writeFile(log, "the only copy of a log\n");
      await assert.rejects(new LogArchive(blobs, () => log).keep("01900000-0000-7000-8000-000000000000-1"), confirmed);
      assert.equal(await readFile(log, "utf8"), "the only copy of a log\n");
      if (page !== "") return;
      await writeFile(`${folder.path}/mark`, "s3://bucket/place/");
      await assert.rejects(blobs.open("logs/one"), BlobsUnavailable, "no log reads as empty meanwhile");
    });
});

it("a small file is sent while large files of others keep all places for large ones", async (t) => {
  // Not a real storage: one that needs as long as the test wants.
  const held: (() => void)[] = [];
  const sizes = new Map<string, number>();
  const storage = {
    async upload(path: string, name: string) {
      const { length } = await readFile(path);
      sizes.set(name, length);
      if (length > 1000) await new Promise<void>((resolve) => held.push(resolve));
      return { size: length };
    },
    stat: async (name: string) => ({ size: sizes.get(name) }),
    close: async () => {},
  } as unknown as Storage;
  const folder = await temporaryFolder("slow");
  const blobs = new UriBlobs(storage, { copies: `${folder.path}/copies`, mark: `${folder.path}/mark` });
  t.after(async () => {
    await blobs.close();
    await folder.remove();
  });
  const large = Buffer.alloc(9 * 1024 * 1024);
  const put = (name: string, content: Buffer, owner: number) =>
    blobs.put(`files/${name}`, Readable.from([content]), { owner });
  const sending = Array.from({ length: 8 }, (_, index) => put(`large-${index}`, large, index % 2));
  while (held.length < 6) await new Promise(setImmediate);
  assert.equal((await put("small", Buffer.from("s"), 2)).size, 1);
  assert.equal(held.length, 6, "large files wait for each other");
  for (let ended = 0; ended < 8; ended++) {
    while (held.at(0) === undefined) await new Promise(setImmediate);
    held.shift()?.();
  }
  await Promise.all(sending);
});
