/** `gs://bucket/path`: Google Cloud Storage. */
import { parseStoreUri } from "../../address/uri.ts";
import { objectStoreCapabilities } from "../../capabilities.ts";
import { defineScheme } from "../../scheme.ts";
import { checkConfiguration } from "./check.ts";
import { parameters } from "./parameters.ts";

export const gsScheme = defineScheme({
  names: ["gs", "gcs"],
  parameters,
  capabilities: objectStoreCapabilities,
  parse: parseStoreUri,
  check: checkConfiguration,
  load: () => import("./open.ts"),
});
