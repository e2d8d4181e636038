/** Browsing a store that never answers, or answers with too much. No real store does, so these are written by hand. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";
import { until } from "../support/until.ts";

/**
 * A store whose bucket `flood` sends one page of 300 MB, whose bucket `empty` sends empty pages for ever, and which
 * answers nothing about others.
 */
function startStore(): Server {
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/flood")) flood(response);
    if (request.url?.startsWith("/empty")) sendEmptyPage(response);
  });
  return server.listen(0, "127.0.0.1");
}

function flood(response: ServerResponse): void {
  const part = Buffer.alloc(1_000_000, "<Contents><Key>a</Key></Contents>");
  response.writeHead(200, { "content-type": "application/xml" }).on("error", () => {});
  Readable.from(Array.from({ length: 300 }, () => part)).pipe(response);
}

function sendEmptyPage(response: ServerResponse): void {
  const more = `<IsTruncated>true</IsTruncated><NextContinuationToken>${Math.random()}</NextContinuationToken>`;
  response.end(`<?xml version="1.0"?><ListBucketResult><Name>empty</Name>${more}</ListBucketResult>`);
}

/** Ids of the processes that list storages for this process. */
function listers(): string[] {
  const isLister = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("storage-child.ts");
    } catch {
      return false;
    }
  };
  const children = readdirSync("/proc/self/task").flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" "),
  );
  return children.filter((pid) => pid !== "" && isLister(pid));
}

describe("browsing a hostile store", { timeout: 120_000 }, () => {
  let store: Server;
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    store = startStore();
    await once(store, "listening");
    server = await startInProcess({ MILLRACE_STORAGE_NETWORKS: "127.0.0.1" });
    client = await server.client();
    const { port } = store.address() as AddressInfo;
    const values = {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
    };
    await client.call(routes.setTeamCredentials, { body: { name: "own", values } });
  });
  after(async () => {
    await server.dispose();
    store.closeAllConnections();
    store.close();
  });

  const browse = (bucket: string, signal?: AbortSignal) =>
    client.request(
      routes.browseStorage,
      { body: { uri: `s3://${bucket}`, credentials_name: "own" } },
      signal ? { signal } : {},
    );

  it("is a problem of the store if its answer is too large", async () => {
    await refused(browse("flood"), "wrong_state");
    assert.deepEqual(listers(), []);
  });

  it("ends if the store sends pages without entries", async () => {
    await refused(browse("empty"), "wrong_state", /sent no entry within 10 seconds/);
    assert.deepEqual(listers(), []);
  });

  it("happens in a process with little memory, which ends when its caller is gone", async () => {
    const leaving = new AbortController();
    const asked = browse("silent", leaving.signal);
    asked.catch(() => {});
    const isLimited = (pid: string) => /Max data size +1024000000 /.test(readFileSync(`/proc/${pid}/limits`, "utf8"));
    await until(async () => listers().some(isLimited), 10);
    leaving.abort();
    await until(async () => listers().length === 0, 5);
  });

  it("does not delay a stop of the server", async () => {
    const asked = browse("silent");
    const stopped = refused(asked, "unavailable", /The server is stopping/);
    await until(async () => listers().length === 1, 10);
    const begun = performance.now();
    await server.stop();
    assert.ok(performance.now() - begun < 10_000);
    await stopped;
    assert.deepEqual(listers(), []);
  });
});
