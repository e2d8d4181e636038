/** `file://path` and plain paths: local files. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { afterScheme } from "../../address/uri.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const fileScheme = defineScheme({
  names: ["file", "local"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    versions: false,
    readConditions: true,
    writeConditions: false,
    serverCopy: true,
    presign: false,
    metadata: false,
    folders: true,
    keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 4095, segment: 255 },
  },
  parse: (uri) => ({ uri, scheme: "file", bucket: "", path: resolve(pathOf(uri)) }),
  load: () => import("./open.ts"),
});

/**
 * Returns the path in a URI. `~` is the user's home folder, as in shells and in fsspec; `localhost` in a file URL is
 * this machine.
 */
function pathOf(uri: string): string {
  const path = uri === afterScheme(uri) ? uri : afterScheme(uri).replace(/^localhost(?=\/)/, "");
  return /^~(\/|$)/.test(path) ? homedir() + path.slice(1) : path;
}
