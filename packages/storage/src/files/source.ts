/** A URI with a pattern, as the source that is opened, the folder that never varies, and what varies below it. */
import { folderOf, type Location } from "../address/uri.ts";
import { findScheme } from "../registry.ts";

export interface SourceUri {
  /** What records name. */
  readonly source: string;
  /** What is opened: the source, or the file itself where a storage has no listings. */
  readonly opened: string;
  /** Below the source, without any pattern; empty, or with a slash at its end. */
  readonly folder: string;
  /** The rest: a name, a pattern, or nothing. */
  readonly rest: string;
}

const magic = /[*?[\\]/;

/** Buckets and web servers are sources by themselves; elsewhere the folder before the first pattern is. */
export function splitUri(uri: string): SourceUri {
  const { parse, capabilities } = findScheme(uri);
  const location = parse(uri);
  // Without listings there are no patterns: the URI is one file, with all that stands in it, such as a signature.
  if (!capabilities.list) return { source: sourceOfBucket(location), opened: uri, folder: "", rest: location.path };
  const { folder, rest } = splitPath(location.path, uri.endsWith("/"));
  if (location.bucket !== "") {
    const source = sourceOfBucket(location);
    return { source, opened: source, folder, rest };
  }
  const place = folder === "/" ? folder : folder.replace(/\/$/, "");
  const source = `${location.scheme}://${place}${location.outer ?? ""}`;
  return { source, opened: source, folder: "", rest };
}

function splitPath(path: string, isFolder: boolean): { folder: string; rest: string } {
  const whole = isFolder ? folderOf(path) : path;
  const segments = whole.split("/");
  const first = segments.findIndex((segment) => magic.test(segment));
  const fixed = first < 0 ? segments.length - 1 : first;
  const folder = segments.slice(0, fixed).map((segment) => `${segment}/`);
  return { folder: folder.join(""), rest: segments.slice(fixed).join("/") };
}

const sourceOfBucket = ({ scheme, bucket }: Location) => (bucket.includes("://") ? bucket : `${scheme}://${bucket}`);

export const isPattern = (text: string) => magic.test(text);
