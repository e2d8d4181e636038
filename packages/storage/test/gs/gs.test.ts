import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { type GsServer, startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import { gsScheme } from "../../src/schemes/gs/scheme.ts";
import { conformance } from "../conformance.ts";

const skip = await whyNoFakeGcsServer();
let server: GsServer;
before(async () => {
  if (!skip) server = await startFakeGcsServer();
});
after(() => server?.stop());

let buckets = 0;
conformance(
  "gs://",
  {
    capabilities: gsScheme.capabilities,
    async open() {
      buckets += 1;
      const config = { endpoint_url: server.endpoint_url, token: "anon", project: "p" };
      const bucket = openStorage(`gs://bucket-${buckets}`, { ...config, token: "raw-token" });
      await bucket.createBucket();
      await bucket.close();
      return openStorage(`gs://bucket-${buckets}/some/prefix`, config);
    },
  },
  skip,
);
