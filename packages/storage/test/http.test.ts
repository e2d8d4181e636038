import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openStorage } from "@millrace/storage";
import { httpScheme } from "../src/schemes/http/scheme.ts";
import { conformance, rejectsWith } from "./conformance.ts";
import { startNginx, type WebServer, whyNoNginx } from "./support/nginx.ts";
import { startRecordingServer } from "./support/recording-server.ts";

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
    // A folder of files stands behind it.
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

it("a server that cannot be reached is named once", async () => {
  const storage = openStorage("http://127.0.0.1:1");
  await assert.rejects(storage.read("a"), {
    code: "network",
    message: /^http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
  });
  await storage.close();
});

describe("a redirect of http://", () => {
  /** Servers of our own, which redirect and record: nginx would need to be told of each. */
  it("is followed, relative and to another server, which is told no secrets", async () => {
    const other = await startRecordingServer((_request, response) => response.end("there"));
    const first = await startRecordingServer(({ path }, response) => {
      if (path === "/relative") response.writeHead(307, { location: "./here" }).end("moved");
      else if (path === "/away") response.writeHead(302, { location: `${other.url}/x%20y?z=1` }).end("moved");
      else response.end("here");
    });
    const headers = { authorization: "Bearer secret", cookie: "a=b", "x-plain": "p" };
    const storage = openStorage(first.url, { headers });
    assert.equal(await storage.readText("relative"), "here");
    assert.equal(first.requests.at(-1)?.headers.authorization, "Bearer secret");
    assert.equal(await storage.readText("away"), "there");
    const [request] = other.requests;
    assert.deepEqual([request?.path, request?.query.get("z")], ["/x%20y", "1"]);
    const { authorization, cookie, "x-plain": plain, host } = request?.headers ?? {};
    assert.deepEqual([authorization, cookie, plain], [undefined, undefined, "p"]);
    assert.equal(`http://${host}`, other.url);
    await storage.close();
    await Promise.all([first.stop(), other.stop()]);
  });

  it("that leads nowhere is not followed for ever", async () => {
    const server = await startRecordingServer((_request, response) =>
      response.writeHead(301, { location: "/a" }).end(),
    );
    const storage = openStorage(server.url);
    await rejectsWith("failed", storage.read("a"));
    assert.ok(server.requests.length < 20);
    await storage.close();
    await server.stop();
  });
});
