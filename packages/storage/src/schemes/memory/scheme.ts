/** `memory://path`: objects in the memory of this process. All storages of this scheme in the process share them. */
import { afterScheme } from "../../address/uri.ts";
import { defineScheme } from "../../scheme.ts";
import { parameters } from "./parameters.ts";

export const memoryScheme = defineScheme({
  names: ["memory"],
  parameters,
  capabilities: {
    list: true,
    write: true,
    ranges: true,
    versions: false,
    readConditions: true,
    writeConditions: true,
    serverCopy: true,
    presign: false,
    metadata: false,
    folders: false,
    keys: {
      doubleSlash: true,
      trailingSlash: true,
      besideFolder: true,
      length: Number.POSITIVE_INFINITY,
      segment: Number.POSITIVE_INFINITY,
    },
  },
  parse: (uri) => ({ uri, scheme: "memory", bucket: "", path: afterScheme(uri) }),
  load: () => import("./open.ts"),
});
