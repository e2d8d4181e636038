/** Where redirects may lead, and which headers are sent there. The servers are our own, which redirect and record. */
import assert from "node:assert/strict";
import { after, beforeEach, describe, it } from "node:test";
import { isStorageError, openStorage } from "@millrace/storage";
import { rejectsWith } from "../conformance.ts";
import { startRecordingServer } from "../support/recording-server.ts";

let target = "";
const other = await startRecordingServer(({ method }, response) => {
  const stored = { name: "a", size: "1", generation: "7" };
  response.end(method === "PUT" ? JSON.stringify(stored) : "there");
});
const first = await startRecordingServer(({ path }, response) => {
  if (path === "/here") response.end("here");
  else if (path.startsWith("/upload/")) response.writeHead(200, { location: target }).end();
  else response.writeHead(307, { location: target }).end("moved");
});
beforeEach(() => {
  other.requests.length = 0;
  first.requests.length = 0;
});
after(() => Promise.all([first.stop(), other.stop()]));

/** None of them is an http address. */
const wrongAddresses = ["http://[::bad", "file:///etc/passwd", "data:,x", `http://[${"x".repeat(5000)}`];

describe("a redirect of http://", () => {
  it("is followed on the same server, which gets the configured headers again", async () => {
    target = "./here";
    await using storage = openStorage(first.url, { headers: { authorization: "Bearer secret", "X-Api-Key": "k" } });
    assert.equal(await storage.readText("a"), "here");
    const { authorization, "x-api-key": key } = first.requests.at(-1)?.headers ?? {};
    assert.deepEqual([authorization, key], ["Bearer secret", "k"]);
  });

  it("to another server carries only harmless configured headers", async () => {
    target = `${other.url}/x%20y?z=1`;
    const secret = { authorization: "Bearer s", cookie: "a=b", "X-Api-Key": "s", "x-plain": "s" };
    const harmless = { Accept: "text/plain", "accept-language": "de", "User-Agent": "mine" };
    await using storage = openStorage(first.url, { headers: { ...secret, ...harmless } });
    assert.equal(Buffer.from(await storage.read("a", { start: 0, end: 5 })).toString(), "there");
    const [request] = other.requests;
    assert.deepEqual([request?.path, request?.query.get("z")], ["/x%20y", "1"]);
    const { connection: _, ...headers } = request?.headers ?? {};
    assert.deepEqual(headers, {
      host: new URL(other.url).host,
      accept: "text/plain",
      "accept-encoding": "identity",
      "accept-language": "de",
      "user-agent": "mine",
      range: "bytes=0-4",
    });
  });

  it("in a loop is not followed forever", async () => {
    target = "/a";
    await using storage = openStorage(first.url);
    await rejectsWith("failed", storage.read("a"));
    assert.ok(first.requests.length < 20);
  });

  for (const wrong of wrongAddresses) {
    it(`to ${wrong.slice(0, 30)} is an error that names it`, async () => {
      target = wrong;
      await using storage = openStorage(first.url);
      await assert.rejects(storage.read("a"), (error: Error) => {
        assert.ok(isStorageError(error, "failed"), error.message);
        assert.ok(error.message.includes(wrong.slice(0, 100)) && error.message.length < 500, error.message);
        return true;
      });
    });
  }
});

it("a redirect of hf:// to an address other than http is a storage error", async () => {
  target = "file:///etc/passwd";
  await using storage = openStorage("hf://datasets/a/b", { endpoint: first.url });
  await rejectsWith("failed", storage.read("a"));
});

describe("an upload of gs:// to the address that the store gives", () => {
  const upload = async () => {
    const headers = { "X-Api-Key": "s", "user-agent": "mine" };
    const config = { endpoint_url: first.url, token: "anon", consistency: "none", session_kwargs: { headers } };
    await using storage = openStorage("gs://bucket", config);
    // More than is sent with one request.
    await storage.write("a", new Uint8Array(8 * 1024 * 1024 + 1));
  };

  it("sends no configured header to another server", async () => {
    target = `${other.url}/session`;
    await upload();
    const { "x-api-key": key, "user-agent": agent } = other.requests[0]?.headers ?? {};
    assert.deepEqual([key, agent, other.requests[0]?.method], [undefined, "mine", "PUT"]);
    assert.equal(first.requests[0]?.headers["x-api-key"], "s");
  });

  it("fails with a storage error if that is not an http address", async () => {
    target = "file:///etc/passwd";
    await rejectsWith("failed", upload());
  });
});
