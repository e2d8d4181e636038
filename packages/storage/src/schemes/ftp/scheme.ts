/** `ftp://[user@]host[:port]/path`, and `ftps://` for the same over TLS. */
import { defineScheme } from "../../scheme.ts";
import { parseServerUri } from "../../server-uri.ts";
import { parameters } from "./parameters.ts";

export const ftpScheme = defineScheme({
  names: ["ftp", "ftps"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    versions: false,
    // Times have seconds: a file that is replaced within one by another of the same size is not noticed.
    readConditions: false,
    writeConditions: false,
    serverCopy: false,
    presign: false,
    metadata: false,
    folders: true,
    keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 1024, segment: 255 },
  },
  parse: parseServerUri,
  load: () => import("./open.ts"),
});
