import { after, before } from "node:test";
import { openStorage } from "@millrace/storage";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { s3Scheme } from "../../src/schemes/s3/scheme.ts";
import { conformance } from "../conformance.ts";

const skip = await whyNoVersitygw();
let server: S3Server;
before(async () => {
  if (!skip) server = await startVersitygw();
});
after(() => server?.stop());

let buckets = 0;
function newBucket(): Promise<string> {
  buckets += 1;
  return server.makeBucket(`bucket-${buckets}`);
}

conformance(
  "s3://",
  {
    capabilities: s3Scheme.capabilities,
    // It stores objects as files.
    refusedKeys: ["a double slash", "a key that others take for their folder", "a key of the greatest length"],
    open: async () => openStorage(`s3://${await newBucket()}/some/prefix`, server.config),
  },
  skip,
);
