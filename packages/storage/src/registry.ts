/** The known schemes: built-in, registered, and those of fsspec. */
import { chainOf } from "./address/chain.ts";
import { checkUri, schemeOf } from "./address/uri.ts";
import type { OuterOpener, OuterPlace } from "./archive/outer.ts";
import { resolveConfiguration } from "./configuration/configuration.ts";
import type { ParameterTable } from "./configuration/parameters.ts";
import { suggest } from "./configuration/suggestion.ts";
import { StorageError } from "./errors.ts";
import type { Scheme } from "./scheme.ts";
import { azScheme } from "./schemes/az/scheme.ts";
import { fileScheme } from "./schemes/file/scheme.ts";
import { chainingNames, fsspecNames } from "./schemes/fsspec/names.ts";
import { bridgeScheme } from "./schemes/fsspec/scheme.ts";
import { isForced } from "./schemes/fsspec/uri.ts";
import { ftpScheme } from "./schemes/ftp/scheme.ts";
import { gsScheme } from "./schemes/gs/scheme.ts";
import { hfScheme } from "./schemes/hf/scheme.ts";
import { httpScheme } from "./schemes/http/scheme.ts";
import { memoryScheme } from "./schemes/memory/scheme.ts";
import { s3Scheme } from "./schemes/s3/scheme.ts";
import { sftpScheme } from "./schemes/sftp/scheme.ts";
import { tarScheme } from "./schemes/tar/scheme.ts";
import { webdavScheme } from "./schemes/webdav/scheme.ts";
import { zipScheme } from "./schemes/zip/scheme.ts";

/** Opens the storage that holds an archive. That storage can have any scheme. */
const outerOpener: OuterOpener = {
  check: (place) => void prepareOuter(place),
  async open(place) {
    const { scheme, location, configuration } = prepareOuter(place);
    const backend = await (await scheme.load()).open({ location, configuration });
    return { uri: place.uri, scheme: location.scheme, key: location.path, backend };
  },
};

function prepareOuter({ uri, client_config, environment }: OuterPlace) {
  const scheme = findScheme(uri);
  const location = scheme.parse(uri);
  const configuration = resolveConfiguration(scheme.names, scheme.parameters, client_config, environment);
  scheme.check?.(configuration, location);
  return { scheme, location, configuration };
}

const registered = new Map<string, Scheme>();
const clouds = [s3Scheme, gsScheme, azScheme, hfScheme];
const servers = [httpScheme, sftpScheme, ftpScheme, webdavScheme];
const archives = [zipScheme(outerOpener), tarScheme(outerOpener)];
const archiveNames = archives.flatMap(({ names }) => names);
for (const scheme of [fileScheme, memoryScheme, ...clouds, ...servers, ...archives]) registerScheme(scheme as Scheme);

/** Adds a scheme, or replaces one of the same name. */
export function registerScheme<Table extends ParameterTable>(scheme: Scheme<Table>): void {
  for (const name of scheme.names) registered.set(name, scheme as unknown as Scheme);
}

export function findScheme(uri: string): Scheme {
  const chain = typeof uri === "string" ? chainOf(uri) : undefined;
  const isArchive = chain !== undefined && archiveNames.includes(chain.scheme);
  if (isArchive && isNative(chain.outer)) return registered.get(chain.scheme) as Scheme;
  if (isArchive || (chain && isChaining(chain.scheme))) return bridge(uri);
  checkUri(uri, (name) => registered.has(name));
  const name = schemeOf(uri);
  return registered.get(name) ?? otherScheme(uri, name);
}

const isChaining = (name: string) => (chainingNames as readonly string[]).includes(name);

/**
 * Whether this library can open the URI without fsspec. For a chain, such as `zip://a.csv::s3://bucket/b.zip`, this
 * must hold for every link.
 */
function isNative(uri: string): boolean {
  const chain = chainOf(uri);
  if (chain && archiveNames.includes(chain.scheme)) return isNative(chain.outer);
  return !(chain && isChaining(chain.scheme)) && registered.has(schemeOf(uri));
}

const bridge = (uri: string) => bridgeScheme(uri, [...registered.keys()]) as unknown as Scheme;

/**
 * Returns the scheme for a name that is not registered. Throws if the name is likely a typo. Does not check that
 * fsspec, or a package that extends fsspec, has the scheme: this is known only when the scheme is first used.
 */
function otherScheme(uri: string, name: string): Scheme {
  const known = [...registered.keys()];
  const isTheirs = (fsspecNames as readonly string[]).includes(name) || isChaining(name) || isForced(uri);
  const hint = isTheirs ? "" : suggest(name, known);
  if (hint === "") return bridge(uri);
  const message = `${name}:// is not a known kind of storage (${known.join(", ")})${hint}`;
  const next = ` If ${name} is a scheme that a package adds to fsspec, write fsspec+${name}://`;
  throw new StorageError("config", message + next, { scheme: name });
}
