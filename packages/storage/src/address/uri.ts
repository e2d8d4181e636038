/**
 * URIs of storages and the keys below them. These URIs are not URLs. A key is taken as written, byte for byte: `#`,
 * `?`, `%` and `//` have no special meaning, and nothing is decoded or normalised.
 */
import { StorageError } from "../errors.ts";

export interface Location {
  /** The URI as the caller gave it. */
  readonly uri: string;
  readonly scheme: string;
  /** Bucket, container, or origin; empty if the scheme has none. */
  readonly bucket: string;
  /** The key that was opened. In calls of the storage, the path "" means this key, and all other paths lie below it. */
  readonly path: string;
  /** For a chain, everything after the path, such as `::s3://bucket/archive.zip`. */
  readonly outer?: string;
}

const schemePattern = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//;

/**
 * Matches a URI with one slash or none after the colon. Its scheme has at least two letters, because a single letter
 * before the colon is a Windows drive.
 */
const oneSlash = /^([a-zA-Z][a-zA-Z0-9+.-]+):\/?(?!\/)(.*)$/;

/**
 * Throws if the URI is empty, or if it has a known scheme but not two slashes: such a URI would be taken for a plain
 * path.
 */
export function checkUri(uri: string, isKnown: (scheme: string) => boolean): void {
  if (typeof uri !== "string") throw new StorageError("config", `expected the URI as a string, got ${typeof uri}`);
  if (uri === "") throw new StorageError("config", "the URI is empty: give a URI, or . for the current folder");
  const [, scheme = "", rest = ""] = oneSlash.exec(uri) ?? [];
  if (!isKnown(scheme.toLowerCase())) return;
  const message = `${uri} is not a valid URI; did you mean ${scheme}://${rest}? For a local file or folder of this name, write ./${uri}`;
  throw new StorageError("config", message, { scheme });
}

/** Returns the scheme of a URI in lower case; a plain path has the scheme `file`. */
export function schemeOf(uri: string): string {
  return schemePattern.exec(uri)?.[1]?.toLowerCase() ?? "file";
}

/** Returns what follows `scheme://`, or the whole plain path. */
export function afterScheme(uri: string): string {
  return uri.replace(schemePattern, "");
}

/** Parses `scheme://bucket/path`, the form of most stores. */
export function parseBucketUri(uri: string): Location {
  const rest = afterScheme(uri);
  const slash = rest.indexOf("/");
  const bucket = slash < 0 ? rest : rest.slice(0, slash);
  if (bucket === "")
    throw new StorageError("config", `${uri}: the bucket is missing; expected ${schemeOf(uri)}://BUCKET/PATH`, {
      scheme: schemeOf(uri),
    });
  if (/[*?[\]{}]/.test(bucket)) {
    throw new StorageError("config", `${uri}: the bucket cannot be a pattern; name one bucket`, {
      scheme: schemeOf(uri),
      bucket,
    });
  }
  return { uri, scheme: schemeOf(uri), bucket, path: slash < 0 ? "" : rest.slice(slash + 1) };
}

/**
 * Like `parseBucketUri`, but the bucket may be missing, as in `s3://`. Without a bucket, the storage contains all
 * buckets.
 */
export function parseStoreUri(uri: string): Location {
  if (/^\/?$/.test(afterScheme(uri))) return { uri, scheme: schemeOf(uri), bucket: "", path: "" };
  return parseBucketUri(uri);
}

/**
 * Whether the same key names the same object in both locations. Compares the whole text before the path, because that
 * text may contain more than the bucket, such as an account or a user.
 */
export function isSamePlace(one: Location, other: Location): boolean {
  if (one.scheme !== other.scheme || one.bucket !== other.bucket) return false;
  const before = ({ uri }: Location) => afterScheme(uri).split("/")[0];
  return one.bucket === "" || before(one) === before(other);
}

/** Joins the opened key and a relative path. */
export function joinKey(base: string, path: string): string {
  if (path === "") return base;
  return folderOf(base) + path;
}

/** Returns the prefix of all keys below the opened key. */
export function folderOf(base: string): string {
  return base === "" || base.endsWith("/") ? base : `${base}/`;
}
