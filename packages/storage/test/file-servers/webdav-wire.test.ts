/** What webdav:// sends, and how it handles answers that our real servers do not give. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { rejectsWith } from "../conformance.ts";
import { type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

let server: RecordingServer;
let answer: { status: number; body: string };
before(async () => {
  server = await startRecordingServer((_, response) => response.writeHead(answer.status).end(answer.body));
});
after(() => server.stop());

const multistatus = (responses: string) => `<?xml version="1.0"?><multistatus xmlns="DAV:">${responses}</multistatus>`;
const open = (config: ClientConfig = {}, user = "") =>
  openStorage(`${server.url.replace("http://", `webdav://${user}`)}/base`, config);

describe("webdav://", () => {
  it("sends a user name and password, a token, and configured headers", async () => {
    answer = { status: 207, body: multistatus("<response><href>/base/a</href></response>") };
    const sent = async (config: ClientConfig, user?: string) => {
      await open(config, user).stat("a");
      return server.requests.at(-1)?.headers;
    };
    const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;
    assert.equal((await sent({}))?.authorization, undefined);
    assert.equal((await sent({}, "u:p%40@"))?.authorization, basic("u:p@"));
    assert.equal((await sent({ username: "v", password: "w" }, "u:p@"))?.authorization, basic("v:w"));
    assert.equal((await sent({ token: "t" }, "u:p@"))?.authorization, "Bearer t");
    assert.equal((await sent({ headers: { "x-own": "1" } }))?.["x-own"], "1");
  });

  it("parses names with any prefix, absolute URLs, entities and CDATA sections", async () => {
    const body = `<x:multistatus xmlns:x="DAV:">
      <x:response><x:href>http://elsewhere/base/</x:href><x:propstat><x:prop><x:resourcetype><x:collection/>
      </x:resourcetype></x:prop></x:propstat></x:response>
      <x:response><x:href>/base/a%20&amp;%25</x:href><x:propstat><x:prop><x:getcontentlength>5</x:getcontentlength>
      <x:getlastmodified>Sun, 15 Nov 2026 11:22:32 GMT</x:getlastmodified><x:getetag>&quot;e&quot;</x:getetag>
      <x:resourcetype/></x:prop></x:propstat></x:response>
      <x:response><x:href><![CDATA[/base/b]]></x:href></x:response></x:multistatus>`;
    answer = { status: 207, body };
    const entries = await Array.fromAsync(open().list());
    assert.deepEqual(
      entries.map(({ path, size, etag }) => [path, size, etag]),
      [
        ["a &%", 5, "e"],
        ["b", 0, "0-0"],
      ],
    );
  });

  it("names the certificate file that cannot be read", async () => {
    await assert.rejects(open({ verify: "/none/such.pem" }).stat("a"), {
      code: "config",
      message: /^verify: .*\/none\/such\.pem/,
    });
  });

  it("reports permission for a locked resource, and does not retry", async () => {
    answer = { status: 423, body: "" };
    const count = server.requests.length;
    await rejectsWith("permission", open().stat("a"));
    assert.equal(server.requests.length, count + 1);
  });
});
