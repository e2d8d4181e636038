/** Parses URIs that fsspec opens, including chains such as `simplecache::s3://bucket/a`. */
import type { Location } from "../../address/uri.ts";

export interface BridgedUri {
  /** The URL for fsspec, without the prefix `fsspec+`. */
  readonly url: string;
  /** The schemes that this library implements itself, for error messages. */
  readonly natives: readonly string[];
}

/**
 * The prefix that requests fsspec: `fsspec+s3://` is opened by fsspec, although this library implements `s3://` itself.
 */
const forced = /^fsspec\+/i;

export const isForced = (uri: string) => forced.test(uri);

export const withoutForce = (uri: string) => uri.replace(forced, "");

/**
 * Splits a URI into scheme, path and `outer`. Chain links before the first path belong to the scheme: in
 * `simplecache::s3://bucket/a`, the scheme is `simplecache::s3`. `outer` is the rest after the path, with the URI of
 * the file that contains the path: in `libarchive://b.csv::s3://bucket/a.zip`, it is `::s3://bucket/a.zip`.
 */
const shape = /^((?:[\w+.-]+::)*[\w+.-]+):\/\/(.*?)(::.*)?$/s;

export function parseBridgedUri(uri: string): Location {
  const [, scheme = "", path = "", outer] = shape.exec(uri) ?? [];
  return { uri, scheme: scheme.toLowerCase(), bucket: "", path, ...(outer === undefined ? {} : { outer }) };
}

/** Returns the schemes of all links of a chain. Links without a scheme, which are local files, are left out. */
export function linkNames(url: string): string[] {
  return url.split("::").flatMap((link) => /^([\w+.-]+):\/\//.exec(link)?.[1]?.toLowerCase() ?? bareName(link));
}

const bareName = (link: string) => (/^[a-z0-9_]+$/.test(link) ? [link] : []);
