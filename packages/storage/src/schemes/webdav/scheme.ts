/**
 * `webdav://host[:port]/path` over HTTP, `webdavs://` over HTTPS. Unlike `http://` URIs, these are not percent-encoded.
 */
import { parseServerUri } from "../../address/server-uri.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const webdavScheme = defineScheme({
  names: ["webdav", "webdavs", "dav", "davs"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    versions: false,
    readConditions: true,
    // Only for files that are written in one request. If a test shows that the server ignores conditions, conditional
    // writes are refused.
    writeConditions: true,
    serverCopy: true,
    presign: false,
    metadata: false,
    folders: true,
    keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 2048, segment: 255 },
  },
  parse: parseServerUri,
  load: () => import("./open.ts"),
});
