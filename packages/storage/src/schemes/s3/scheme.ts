/** `s3://bucket/path`: S3 and compatible stores. */
import { parseStoreUri } from "../../address/uri.ts";
import { objectStoreCapabilities } from "../../capabilities.ts";
import { defineScheme } from "../../scheme.ts";
import { checkConfiguration } from "./check.ts";
import { parameters } from "./parameters.ts";

export const s3Scheme = defineScheme({
  names: ["s3", "s3a"],
  parameters,
  capabilities: objectStoreCapabilities,
  parse: parseStoreUri,
  check: checkConfiguration,
  load: () => import("./open.ts"),
});
