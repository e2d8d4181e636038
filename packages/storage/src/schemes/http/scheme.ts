/**
 * `http://` and `https://`: read-only access to web servers. Unlike other URIs, these are URLs: the caller must
 * percent-encode them.
 */
import { type Location, schemeOf } from "../../address/uri.ts";
import { StorageError } from "../../errors.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const httpScheme = defineScheme({
  names: ["http", "https"],
  parameters,
  capabilities: {
    list: false,
    write: false,
    ranges: true,
    versions: false,
    readConditions: true,
    writeConditions: false,
    serverCopy: false,
    presign: false,
    metadata: false,
    folders: false,
    keys: { doubleSlash: true, trailingSlash: true, besideFolder: true, length: 8000, segment: 8000 },
  },
  parse,
  load: () => import("./open.ts"),
});

function parse(uri: string): Location {
  if (!URL.canParse(uri))
    throw new StorageError(
      "config",
      `${uri} is not a valid URL; expected http://host/path or https://host/path, percent-encoded`,
      { scheme: schemeOf(uri) },
    );
  const { origin, pathname } = new URL(uri);
  return { uri, scheme: schemeOf(uri), bucket: origin, path: pathname.slice(1) };
}
