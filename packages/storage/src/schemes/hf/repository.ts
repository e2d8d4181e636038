/** Parses which repository of the hub a URI names, and checks paths in it. */
import { checkTreePath } from "../../address/tree-path.ts";
import { afterScheme, type Location } from "../../address/uri.ts";
import { StorageError } from "../../errors.ts";

export type RepositoryType = "dataset" | "model" | "space";

export interface RepositoryName {
  /** The possible types in the order in which they are tried: several if the URI names none. */
  readonly types: readonly RepositoryType[];
  readonly id: string;
  readonly revision: string;
}

const prefixes: Readonly<Record<string, RepositoryType>> = { datasets: "dataset", models: "model", spaces: "space" };

/** Revisions that the hub creates contain slashes and may be written with them; in other revisions a slash is `%2F`. */
const uriPattern = /^([^/@]+\/[^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+))?(?:\/(.*))?$/s;

/**
 * Old datasets have no namespace. A path after such a name would be read as the name, unless a revision stands between.
 */
const lonePattern = /^([^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+)(?:\/(.*))?|\/)?$/s;

const defaultRevision = "main";

/** Parses `hf://[datasets/|models/|spaces/]namespace/name[@revision][/path]`, or a name alone. */
export function parseHubUri(uri: string): Location {
  const { prefix, name, path } = split(uri);
  return { uri, scheme: "hf", bucket: prefix + name, path };
}

/** Without a type it is a dataset, or, if the hub has no such dataset, a model. */
export function repositoryOf({ uri }: Location): RepositoryName {
  const { prefix, name } = split(uri);
  const type = prefixes[prefix.slice(0, -1)];
  const at = name.indexOf("@");
  return {
    types: type ? [type] : ["dataset", "model"],
    id: at < 0 ? name : name.slice(0, at),
    revision: at < 0 ? defaultRevision : decodeURIComponent(name.slice(at + 1)),
  };
}

function split(uri: string): { prefix: string; name: string; path: string } {
  const whole = afterScheme(uri);
  const first = whole.slice(0, whole.indexOf("/") + 1);
  if (first === "buckets/") throw refuse(`${uri}: hub buckets are not supported, only repositories`);
  const prefix = prefixes[first.slice(0, -1)] ? first : "";
  const rest = whole.slice(prefix.length);
  const [, id, revision, path = ""] = uriPattern.exec(rest) ?? lonePattern.exec(rest) ?? [];
  if (id === undefined || (prefix === "" && prefixes[id]))
    throw refuse(`${uri}: expected hf://[datasets/|models/|spaces/]namespace/name[@revision]/path`);
  return { prefix, name: revision === undefined ? id : `${id}@${revision}`, path };
}

const refuse = (message: string) => new StorageError("config", message, { scheme: "hf" });

/** The hub keeps git trees, which have no `.git` entries. */
export const checkPath = (key: string) => checkTreePath("hf", key, /\0|(^|\/)\.git(\/|$)/);
