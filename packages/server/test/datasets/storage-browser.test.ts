/** Browsing storage with a team's credentials: folders of this machine, and an object store. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

/** A store with 600 folders and a file in the bucket `pets`, and nothing in others. It refuses other keys. */
function startStore(): Server {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://store");
    const signed = request.headers.authorization?.includes("Credential=good/") ?? false;
    const [status, body] = !signed
      ? [403, "<Error><Code>AccessDenied</Code><Message>key hidden-value is unknown</Message></Error>"]
      : url.pathname.startsWith("/pets")
        ? [200, listing(url.searchParams.get("start-after") ?? "")]
        : [404, "<Error><Code>NoSuchBucket</Code><Message>no bucket</Message></Error>"];
    response.writeHead(Number(status), { "content-type": "application/xml" }).end(body);
  });
  return server.listen(0, "127.0.0.1");
}

const folders = Array.from({ length: 600 }, (_, n) => `f${String(n).padStart(3, "0")}/`);

function listing(after: string): string {
  const left = folders.filter((folder) => folder > after && !after.startsWith(folder));
  const prefixes = left.map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`).join("");
  const file =
    "<Contents><Key>a.csv</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>x</ETag><Size>5</Size></Contents>";
  return `<ListBucketResult><Name>pets</Name><IsTruncated>false</IsTruncated>${"a.csv" > after ? file : ""}${prefixes}</ListBucketResult>`;
}

describe("browsing storage", () => {
  let server: InProcessServer;
  let client: Client;
  let store: Server;
  let base: string;
  before(async () => {
    base = await mkdtemp(join(tmpdir(), "millrace-browser-"));
    await mkdir(join(base, "sub"));
    await writeFile(join(base, "file.csv"), "12345");
    store = startStore();
    await once(store, "listening");
    server = await startInProcess({ MILLRACE_JOB_PATHS: base, MILLRACE_STORAGE_NETWORKS: "127.0.0.1" });
    client = await server.client();
    const { port } = store.address() as AddressInfo;
    const set = (name: string, values: Record<string, string>) =>
      client.call(routes.setTeamCredentials, { body: { name, values } });
    const AWS_ENDPOINT_URL = `http://127.0.0.1:${port}`;
    await set("good", { AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID: "good", AWS_SECRET_ACCESS_KEY: "secret" });
    await set("wrong", { AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID: "wrong", AWS_SECRET_ACCESS_KEY: "hidden-value" });
    await set("half", { AWS_ENDPOINT_URL });
    await set("inside", {
      AWS_ENDPOINT_URL: "http://[::1]:9",
      AWS_ACCESS_KEY_ID: "good",
      AWS_SECRET_ACCESS_KEY: "secret",
    });
  });
  after(async () => {
    store.close();
    await server.dispose();
    await rm(base, { recursive: true, force: true });
  });

  const browse = (uri: string, credentials_name?: string, cursor?: string) =>
    client.call(routes.browseStorage, {
      body: { uri, ...(credentials_name ? { credentials_name } : {}), ...(cursor ? { cursor } : {}) },
    });

  it("lists folders that jobs may use, and nothing outside", async () => {
    const { entries, next_cursor } = await browse(`file://${base}`);
    assert.deepEqual(
      entries.map(({ name, kind, size }) => [name, kind, size]),
      [
        ["file.csv", "file", 5],
        ["sub", "folder", null],
      ],
    );
    assert.equal(next_cursor, null);
    await refused(browse("file:///etc"), "not_found", /no file or folder at file:\/\/\/etc that jobs may use/);
  });

  it("lists an object store with credentials, in pages", async () => {
    const first = await browse("s3://pets/", "good");
    assert.deepEqual(first.entries[0], {
      name: "a.csv",
      kind: "file",
      size: 5,
      last_modified: "2026-01-01T00:00:00.000Z",
    });
    assert.equal(first.entries.length, 500);
    const second = await browse("s3://pets/", "good", first.next_cursor ?? "");
    assert.deepEqual([second.entries.length, second.entries.at(-1)?.name, second.next_cursor], [101, "f599", null]);
  });

  it("says what is wrong with the credentials, without their values", async () => {
    await refused(browse("s3://pets", "wrong"), "wrong_state", /Check the values of the credentials wrong/);
    await refused(browse("s3://pets", "wrong"), "wrong_state", /^(?!.*hidden-value)/s);
    await refused(browse("s3://pets", "half"), "wrong_state", /half have no AWS_ACCESS_KEY_ID and no AWS_SECRET/);
    await refused(browse("s3://pets", "none"), "invalid", /credentials_name.*good, half, inside, wrong/);
    await refused(browse("s3://other", "good"), "not_found", /nothing at s3:\/\/other/);
  });

  it("reaches no private address that the operator does not allow", async () => {
    await refused(browse("s3://pets", "inside"), "wrong_state", /private address.*MILLRACE_STORAGE_NETWORKS/);
  });

  it("refuses other schemes and chains", async () => {
    for (const uri of ["sftp://host/x", "zip://a::file:///etc/x.zip", "/etc", "s3:pets"])
      await refused(browse(uri), "invalid", /uri: expected a URI such as s3:\/\/bucket/);
  });
});
