/** `ftp://[user@]host[:port]/path`, and `ftps://` for the same over TLS. */
import { parseServerUri } from "../../address/server-uri.ts";
import { fileServerCapabilities } from "../../capabilities.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const ftpScheme = defineScheme({
  names: ["ftp", "ftps"],
  parameters,
  capabilities: { ...fileServerCapabilities, keys: { ...fileServerCapabilities.keys, length: 1024 } },
  parse: parseServerUri,
  load: () => import("./open.ts"),
});
