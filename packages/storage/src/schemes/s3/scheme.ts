/** `s3://bucket/path`: S3 and the stores that speak like it. */
import { defineScheme } from "../../scheme.ts";
import { parseBucketUri } from "../../uri.ts";
import { checkConfiguration } from "./check.ts";
import { parameters } from "./parameters.ts";

export const s3Scheme = defineScheme({
  names: ["s3", "s3a"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    versions: true,
    readConditions: true,
    writeConditions: true,
    serverCopy: true,
    presign: true,
    metadata: true,
    folders: false,
    keys: { doubleSlash: true, trailingSlash: true, besideFolder: true, length: 1024, segment: 1024 },
  },
  parse: parseBucketUri,
  check: checkConfiguration,
  load: () => import("./open.ts"),
});
