/** All schemes that are not native but have a file system in fsspec, through an installed Python. */
import { fileServerCapabilities } from "../../capabilities.ts";
import { defineScheme, type Scheme } from "../../scheme.ts";
import { isObjectStore } from "./names.ts";
import { parameters } from "./parameters.ts";
import { linkNames, parseBridgedUri, withoutForce } from "./uri.ts";

/**
 * Returns the scheme for a URI that goes to fsspec. `natives` lists the schemes that need no bridge, for error
 * messages.
 */
export function bridgeScheme(uri: string, natives: readonly string[]): Scheme<typeof parameters> {
  const url = withoutForce(uri);
  const [name = ""] = linkNames(url);
  const folders = !isObjectStore(name);
  const { keys } = fileServerCapabilities;
  return defineScheme({
    names: [name],
    parameters,
    capabilities: { ...fileServerCapabilities, folders, keys: { ...keys, besideFolder: !folders, length: 1024 } },
    parse: parseBridgedUri,
    load: async () => {
      const { open } = await import("./open.ts");
      return { open: (request) => open(request, { url, natives }, folders) };
    },
  });
}
