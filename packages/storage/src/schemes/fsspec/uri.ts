/** URIs that go to fsspec, including chains. */
import type { Location } from "../../address/uri.ts";

export interface BridgedUri {
  /** The URL in fsspec's form. */
  readonly url: string;
  /** The schemes that need no bridge, for messages. */
  readonly natives: readonly string[];
}

/** `fsspec+s3://` uses fsspec's file system for `s3://` instead of the native scheme. */
const forced = /^fsspec\+/i;

export const isForced = (uri: string) => forced.test(uri);

export const withoutForce = (uri: string) => uri.replace(forced, "");

/**
 * Chain links before the first path, such as caches, are part of the scheme: `simplecache::s3` in
 * `simplecache::s3://bucket/a`. Everything after that path is `outer`: the URI of what contains it, such as an archive.
 */
const shape = /^((?:[\w+.-]+::)*[\w+.-]+):\/\/(.*?)(::.*)?$/s;

export function parseBridgedUri(uri: string): Location {
  const [, scheme = "", path = "", outer] = shape.exec(uri) ?? [];
  return { uri, scheme: scheme.toLowerCase(), bucket: "", path, ...(outer === undefined ? {} : { outer }) };
}

/** Returns the scheme names of all links of a chain. A link without a scheme is a local file. */
export function linkNames(url: string): string[] {
  return url.split("::").flatMap((link) => /^([\w+.-]+):\/\//.exec(link)?.[1]?.toLowerCase() ?? bareName(link));
}

const bareName = (link: string) => (/^[a-z0-9_]+$/.test(link) ? [link] : []);
