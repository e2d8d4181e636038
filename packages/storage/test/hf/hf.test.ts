import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { hfScheme } from "../../src/schemes/hf/scheme.ts";
import { conformance } from "../conformance.ts";
import { type HubServer, startHub, writerToken } from "../support/hub/server.ts";

let hub: HubServer;
before(async () => {
  hub = await startHub();
});
after(() => hub?.stop());

let repositories = 0;

conformance("hf://", {
  capabilities: hfScheme.capabilities,
  async open() {
    repositories += 1;
    const { id } = hub.create("datasets", `team/set-${repositories}`);
    return openStorage(`hf://datasets/${id}/some/prefix`, { endpoint: hub.url, token: writerToken });
  },
});
