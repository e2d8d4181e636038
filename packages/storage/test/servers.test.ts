/** Servers of the kinds whose backends come next start and stop. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { startAzurite } from "./support/azurite.ts";
import { startFakeGcsServer, whyNoFakeGcsServer } from "./support/fake-gcs-server.ts";

it("fake-gcs-server answers", { skip: await whyNoFakeGcsServer(), timeout: 60_000 }, async () => {
  const server = await startFakeGcsServer();
  try {
    assert.equal((await fetch(`${server.endpoint_url}/storage/v1/b?project=p`)).status, 200);
  } finally {
    await server.stop();
  }
});

it("azurite answers", { timeout: 60_000 }, async () => {
  const server = await startAzurite();
  try {
    const url = /BlobEndpoint=([^;]+)/.exec(server.connection_string)?.[1];
    assert.equal((await fetch(`${url}?comp=list`)).status, 403);
  } finally {
    await server.stop();
  }
});
