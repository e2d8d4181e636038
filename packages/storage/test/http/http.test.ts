import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, it } from "node:test";
import { openStorage } from "@millrace/storage";
import { startNginx, type WebServer, whyNoNginx } from "@millrace/testing/servers/nginx.ts";
import { httpScheme } from "../../src/schemes/http/scheme.ts";
import { conformance } from "../conformance.ts";

const skip = await whyNoNginx();
let server: WebServer;
before(async () => {
  if (!skip) server = await startNginx();
});
after(() => server?.stop());

conformance(
  "http://",
  {
    capabilities: httpScheme.capabilities,
    // The server serves a folder of files.
    refusedKeys: ["a slash at the end", "a key that others take for their folder", "a key of the greatest length"],
    open: async () => openStorage(server.url),
    async put(path, bytes) {
      const file = join(server.root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, bytes);
    },
  },
  skip,
);

it("an unreachable server is named once", async () => {
  const storage = openStorage("http://127.0.0.1:1");
  await assert.rejects(storage.read("a"), {
    code: "network",
    message: /^http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
  });
  await storage.close();
});
