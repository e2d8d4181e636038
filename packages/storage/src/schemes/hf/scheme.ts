/**
 * `hf://`: repositories of the Hugging Face hub. A URI without a type means a dataset, or a model if there is no such
 * dataset.
 */
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";
import { parseHubUri } from "./repository.ts";

export const hfScheme = defineScheme({
  names: ["hf"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    // A file can be read at any commit, but the hub lists only one commit at a time.
    versions: false,
    namedVersions: true,
    readConditions: true,
    writeConditions: true,
    // The hub copies only LFS files; small files pass through this process.
    serverCopy: false,
    presign: false,
    metadata: false,
    folders: false,
    keys: { doubleSlash: false, trailingSlash: false, besideFolder: false, length: 4095, segment: 255 },
  },
  parse: parseHubUri,
  load: () => import("./open.ts"),
});
