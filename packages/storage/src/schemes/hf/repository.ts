/** Parses the repository in a URI, and checks paths within a repository. */
import { checkTreePath } from "../../address/tree-path.ts";
import { afterScheme, type Location } from "../../address/uri.ts";
import { StorageError } from "../../errors.ts";

export type RepositoryType = "dataset" | "model" | "space";

export interface RepositoryName {
  /** The repository types to try, in this order. If the URI contains the type, the list contains only that type. */
  readonly types: readonly RepositoryType[];
  readonly id: string;
  readonly revision: string;
}

const prefixes: Readonly<Record<string, RepositoryType>> = { datasets: "dataset", models: "model", spaces: "space" };

/**
 * Matches `namespace/name[@revision][/path]`. Revisions that the hub itself creates, such as `refs/pr/1`, may contain
 * slashes. In other revisions, a slash must be written as `%2F`.
 */
const uriPattern = /^([^/@]+\/[^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+))?(?:\/(.*))?$/s;

/**
 * Matches a repository name without a namespace, which some old datasets have. A path can follow only after a revision,
 * because in `a/b`, `a` is the namespace and `b` the name.
 */
const lonePattern = /^([^/@]+)(?:@(refs\/(?:convert\/[^/]+|pr\/\d+)|[^/]+)(?:\/(.*))?|\/)?$/s;

const defaultRevision = "main";

/** Parses `hf://[datasets/|models/|spaces/]namespace/name[@revision][/path]`, or a name alone. */
export function parseHubUri(uri: string): Location {
  const { prefix, name, path } = split(uri);
  return { uri, scheme: "hf", bucket: prefix + name, path };
}

/**
 * Returns type, name and revision of the repository in a URI. If the URI contains no type, the repository is a dataset
 * or, if there is no such dataset, a model.
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
  if (first === "buckets/")
    throw refuse(`${uri}: buckets of the hub are not supported; use a repository, hf://datasets/namespace/name`);
  const prefix = prefixes[first.slice(0, -1)] ? first : "";
  const rest = whole.slice(prefix.length);
  const [, id, revision, path = ""] = uriPattern.exec(rest) ?? lonePattern.exec(rest) ?? [];
  if (id === undefined || (prefix === "" && prefixes[id]))
    throw refuse(`${uri}: expected hf://[datasets/|models/|spaces/]namespace/name[@revision]/path`);
  return { prefix, name: revision === undefined ? id : `${id}@${revision}`, path };
}

const refuse = (message: string) => new StorageError("config", message, { scheme: "hf" });

/**
 * Returns the key. Throws if `checkTreePath` does, or if a name in the path is `.git`, which git trees cannot contain.
 */
export const checkPath = (key: string) => checkTreePath("hf", key, /\0|(^|\/)\.git(\/|$)/);
