/**
 * URIs of storages and the keys below them. They are not URLs: a key is taken as written, byte for byte, so `#`, `?`,
 * `%` and `//` mean themselves and nothing is decoded or normalised.
 */
import { StorageError } from "../errors.ts";

export interface Location {
  /** As it was given. */
  readonly uri: string;
  readonly scheme: string;
  /** Bucket, container, or origin; empty where the scheme has no such thing. */
  readonly bucket: string;
  /** The opened key: the path "" of the storage, and the folder of all others. */
  readonly path: string;
  /** Of a chain: what stands behind the path, `::s3://bucket/archive.zip`. */
  readonly outer?: string;
}

const schemePattern = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//;

/** Two letters at least: one is a drive of Windows. */
const oneSlash = /^([a-zA-Z][a-zA-Z0-9+.-]+):\/?(?!\/)(.*)$/;

/** Refuses what would be taken for a plain path, and is most likely none. */
export function checkUri(uri: string, isKnown: (scheme: string) => boolean): void {
  if (typeof uri !== "string") throw new StorageError("config", `a URI is a text, not ${typeof uri}`);
  if (uri === "") throw new StorageError("config", "the URI is empty: name a place, or . for the current folder");
  const [, scheme = "", rest = ""] = oneSlash.exec(uri) ?? [];
  if (!isKnown(scheme.toLowerCase())) return;
  const message = `${uri}: did you mean ${scheme}://${rest}? A folder of that name is ./${uri}`;
  throw new StorageError("config", message, { scheme });
}

/** The scheme of a URI, in lower case; a plain path is a file. */
export function schemeOf(uri: string): string {
  return schemePattern.exec(uri)?.[1]?.toLowerCase() ?? "file";
}

/** What follows `scheme://`, or all of a plain path. */
export function afterScheme(uri: string): string {
  return uri.replace(schemePattern, "");
}

/** The shape `scheme://bucket/path`, which most stores have. */
export function parseBucketUri(uri: string): Location {
  const rest = afterScheme(uri);
  const slash = rest.indexOf("/");
  const bucket = slash < 0 ? rest : rest.slice(0, slash);
  if (bucket === "") throw new StorageError("config", `${uri}: the bucket is missing`, { scheme: schemeOf(uri) });
  if (/[*?[\]{}]/.test(bucket)) {
    throw new StorageError("config", `${uri}: a bucket cannot be a pattern`, { scheme: schemeOf(uri), bucket });
  }
  return { uri, scheme: schemeOf(uri), bucket, path: slash < 0 ? "" : rest.slice(slash + 1) };
}

/** The same, or no bucket at all, as in `s3://`: then the buckets are what it holds. */
export function parseStoreUri(uri: string): Location {
  if (/^\/?$/.test(afterScheme(uri))) return { uri, scheme: schemeOf(uri), bucket: "", path: "" };
  return parseBucketUri(uri);
}

/** Whether keys of both mean the same. What stands before the path may name more than the bucket: an account, a user. */
export function isSamePlace(one: Location, other: Location): boolean {
  if (one.scheme !== other.scheme || one.bucket !== other.bucket) return false;
  const before = ({ uri }: Location) => afterScheme(uri).split("/")[0];
  return one.bucket === "" || before(one) === before(other);
}

/** The key of a path below the opened one. */
export function joinKey(base: string, path: string): string {
  if (path === "") return base;
  return folderOf(base) + path;
}

/** The prefix that all keys below the opened one share. */
export function folderOf(base: string): string {
  return base === "" || base.endsWith("/") ? base : `${base}/`;
}
