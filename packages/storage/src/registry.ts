/** The kinds of storage that are known: those built in, and those that were registered. */
import { checkUri, schemeOf } from "./address/uri.ts";
import type { ParameterTable } from "./configuration/parameters.ts";
import { suggest } from "./configuration/suggestion.ts";
import { StorageError } from "./errors.ts";
import type { Scheme } from "./scheme.ts";
import { azScheme } from "./schemes/az/scheme.ts";
import { fileScheme } from "./schemes/file/scheme.ts";
import { ftpScheme } from "./schemes/ftp/scheme.ts";
import { gsScheme } from "./schemes/gs/scheme.ts";
import { hfScheme } from "./schemes/hf/scheme.ts";
import { httpScheme } from "./schemes/http/scheme.ts";
import { memoryScheme } from "./schemes/memory/scheme.ts";
import { s3Scheme } from "./schemes/s3/scheme.ts";
import { sftpScheme } from "./schemes/sftp/scheme.ts";
import { webdavScheme } from "./schemes/webdav/scheme.ts";

const registered = new Map<string, Scheme>();
const clouds = [s3Scheme, gsScheme, azScheme, hfScheme];
const servers = [httpScheme, sftpScheme, ftpScheme, webdavScheme];
for (const scheme of [fileScheme, memoryScheme, ...clouds, ...servers]) registerScheme(scheme as Scheme);

/** Adds a kind of storage, or replaces one of the same name. */
export function registerScheme<Table extends ParameterTable>(scheme: Scheme<Table>): void {
  for (const name of scheme.names) registered.set(name, scheme as unknown as Scheme);
}

export function findScheme(uri: string): Scheme {
  checkUri(uri, (name) => registered.has(name));
  const name = schemeOf(uri);
  const scheme = registered.get(name);
  if (scheme) return scheme;
  const known = [...registered.keys()];
  const hint = suggest(name, known);
  throw new StorageError("config", `${name}:// is not a known kind of storage (${known.join(", ")})${hint}`, {
    scheme: name,
  });
}
