import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { type AzServer, startAzurite } from "@millrace/testing/servers/azurite.ts";
import { azScheme } from "../../src/schemes/az/scheme.ts";
import { conformance } from "../conformance.ts";

let server: AzServer;
before(async () => {
  server = await startAzurite();
});
after(() => server?.stop());

let containers = 0;
conformance("az://", {
  capabilities: azScheme.capabilities,
  // The store treats it as a slash, so it is refused.
  refusedKeys: ["a key with a backslash"],
  async open() {
    containers += 1;
    const { connection_string } = server;
    const storage = openStorage(`az://container-${containers}/some/prefix`, { connection_string });
    await storage.createBucket();
    return storage;
  },
});
