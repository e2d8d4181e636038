/** `sftp://[user@]host[:port]/path`: files on another machine, over SSH. */
import { parseServerUri } from "../../address/server-uri.ts";
import { fileServerCapabilities } from "../../capabilities.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const sftpScheme = defineScheme({
  names: ["sftp", "ssh"],
  parameters,
  capabilities: fileServerCapabilities,
  parse: parseServerUri,
  load: () => import("./open.ts"),
});
