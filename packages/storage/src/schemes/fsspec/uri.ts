/** URIs that are handed to fsspec, chained ones among them. */
import type { Location } from "../../address/uri.ts";

export interface BridgedUri {
  /** As fsspec reads it. */
  readonly url: string;
  /** The kinds of storage that need no bridge, for messages. */
  readonly natives: readonly string[];
}

/** `fsspec+s3://` is `s3://` as fsspec's file system has it, although there is one of our own. */
const forced = /^fsspec\+/i;

export const isForced = (uri: string) => forced.test(uri);

export const withoutForce = (uri: string) => uri.replace(forced, "");

/** Caches before the first path are part of the kind: `simplecache::s3://bucket/a`. Behind it, `outer` is what holds it. */
const shape = /^((?:[\w+.-]+::)*[\w+.-]+):\/\/(.*?)(::.*)?$/s;

export function parseBridgedUri(uri: string): Location {
  const [, scheme = "", path = "", outer] = shape.exec(uri) ?? [];
  return { uri, scheme: scheme.toLowerCase(), bucket: "", path, ...(outer === undefined ? {} : { outer }) };
}

/** The names of all links. What has none is a file of this machine. */
export function linkNames(url: string): string[] {
  return url.split("::").flatMap((link) => /^([\w+.-]+):\/\//.exec(link)?.[1]?.toLowerCase() ?? bareName(link));
}

const bareName = (link: string) => (/^[a-z0-9_]+$/.test(link) ? [link] : []);
