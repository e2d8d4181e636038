/** Parses `zip://inner/path::s3://bucket/archive.zip`, the URI of a file in an archive, and locates the archive. */
import { chainOf } from "../address/chain.ts";
import { afterScheme, type Location, schemeOf } from "../address/uri.ts";
import type { Backend } from "../backend.ts";
import type { Capabilities } from "../capabilities.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { ClientConfig } from "../configuration/parameters.ts";
import { StorageError } from "../errors.ts";
import type { Scheme } from "../scheme.ts";
import type { Outer, OuterOpener, OuterPlace } from "./outer.ts";
import { archiveParameters } from "./parameters.ts";

type Table = typeof archiveParameters;

const capabilities: Capabilities = {
  list: true,
  write: false,
  ranges: true,
  versions: false,
  readConditions: true,
  writeConditions: false,
  serverCopy: false,
  presign: false,
  metadata: false,
  folders: false,
  keys: { doubleSlash: false, trailingSlash: false, besideFolder: true, length: 65_535, segment: 65_535 },
};

/** Returns the scheme of an archive format. `load` imports the code that reads the format. */
export function archiveScheme(
  name: string,
  parameters: Table,
  opener: OuterOpener,
  load: () => Promise<{ open(outer: Outer): Backend }>,
): Scheme<Table> {
  return {
    names: [name],
    parameters,
    capabilities,
    parse: parseArchiveUri,
    check(configuration, location) {
      checkParameters(configuration, location);
      opener.check(outerPlace(location, configuration));
    },
    async load() {
      const { open } = await load();
      return {
        open: async ({ location, configuration }) => open(await opener.open(outerPlace(location, configuration))),
      };
    },
  };
}

function parseArchiveUri(uri: string): Location {
  const chain = chainOf(uri);
  const scheme = chain?.scheme ?? schemeOf(uri);
  const path = (chain ? chain.path : afterScheme(uri)).replace(/^\/+/, "");
  return { uri, scheme, bucket: "", path, ...(chain ? { outer: `::${chain.outer}` } : {}) };
}

const outerUri = ({ outer }: Location, { values }: Configuration<Table>) => outer?.slice(2) ?? values.fo ?? "";

/** Returns the schemes of all links of a chain, in order: `zip` and `s3` for `zip://a.zip::s3://bucket/b.zip`. */
const kindsAround = (uri: string): string[] => {
  const chain = chainOf(uri);
  return chain ? [chain.scheme, ...kindsAround(chain.outer)] : [schemeOf(uri)];
};

function checkParameters(configuration: Configuration<Table>, location: Location): void {
  const { scheme } = location;
  const refuse = (message: string) => new StorageError("config", message, { scheme });
  const outer = outerUri(location, configuration);
  if (outer === "")
    throw refuse(`the URI of the archive is missing: expected ${scheme}://path/in/archive::URI-of-the-archive`);
  const kinds = kindsAround(outer);
  for (const [key, value] of Object.entries(configuration.values)) {
    if (key in archiveParameters || (kinds.includes(key) && typeof value === "object")) continue;
    const next = `Put the parameters of the storage that holds the archive into a member named after the scheme of that storage: {"${kinds.at(-1)}": {…}}`;
    throw refuse(`${key} is not a parameter of ${scheme}://. ${next}`);
  }
}

const outerPlace = (location: Location, configuration: Configuration<Table>): OuterPlace => ({
  uri: outerUri(location, configuration),
  client_config: outerConfig(location, configuration),
  environment: configuration.environment,
});

/**
 * Returns the parameters for the next link of the chain. If that link is an archive too, these include the parameters
 * for the links after it.
 */
function outerConfig(location: Location, configuration: Configuration<Table>): ClientConfig {
  const [next = "", ...others] = kindsAround(outerUri(location, configuration));
  const values = configuration.values as unknown as Readonly<Record<string, ClientConfig | undefined>>;
  const passed = others.filter((kind) => values[kind] !== undefined).map((kind) => [kind, values[kind]] as const);
  return { ...configuration.values.target_options, ...values[next], ...Object.fromEntries(passed) };
}
