/** Parses the repository in a URI, and checks paths within a repository. */
import { checkTreePath } from "../../address/tree-path.ts";
import { afterScheme, type Location } from "../../address/uri.ts";
import { StorageError } from "../../errors.ts";

export type RepositoryType = "dataset" | "model" | "space";

export interface RepositoryName {
  /** The types to try, in this order. There are several if the URI contains no type. */
  readonly types: readonly RepositoryType[];
  readonly id: string;
  readonly revision: string;
}

const prefixes: Readonly<Record<string, RepositoryType>> = { datasets: "dataset", models: "model", spaces: "space" };

/**
 * Revisions that the hub itself creates, such as `refs/pr/1`, may contain slashes; in other revisions, a slash must be
 * written as `%2F`.
 */
const uriPattern = /^([^/@]+\/[^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+))?(?:\/(.*))?$/s;

/**
 * A name without a namespace, as some old datasets have. A path can follow only after a revision: in `a/b`, `a` would
 * be the namespace and `b` the name.
 */
const lonePattern = /^([^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+)(?:\/(.*))?|\/)?$/s;

const defaultRevision = "main";

/** Parses `hf://[datasets/|models/|spaces/]namespace/name[@revision][/path]`, or a name alone. */
export function parseHubUri(uri: string): Location {
  const { prefix, name, path } = split(uri);
  return { uri, scheme: "hf", bucket: prefix + name, path };
}

/**
 * Returns the name of the repository in a URI. A URI without a type means a dataset or, if the hub has no such dataset,
 * a model.
 */
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

/** Checks a path. Refuses `.git` too, because git trees cannot contain entries of this name. */
export const checkPath = (key: string) => checkTreePath("hf", key, /\0|(^|\/)\.git(\/|$)/);
