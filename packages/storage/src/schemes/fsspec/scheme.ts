/** Schemes that this library does not implement itself, but fsspec does. They need an installed Python. */
import { fileServerCapabilities } from "../../capabilities.ts";
import { defineScheme, type Scheme } from "../../scheme.ts";
import { isObjectStore } from "./names.ts";
import { parameters } from "./parameters.ts";
import { linkNames, parseBridgedUri, withoutForce } from "./uri.ts";

/**
 * Returns the scheme for a URI that fsspec opens. `natives` is the list of schemes that this library implements itself,
 * for error messages.
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
