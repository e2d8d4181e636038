/** Splits a URI with a pattern into the source to open, the fixed folder, and the variable rest below it. */
import { folderOf, type Location } from "../address/uri.ts";
import { findScheme } from "../registry.ts";

export interface SourceUri {
  /** The value of `source` in the file records. */
  readonly source: string;
  /** The URI to open: the source, or the file itself if the storage has no listings. */
  readonly opened: string;
  /** The folder below the source, without any pattern; empty, or ending with a slash. */
  readonly folder: string;
  /** The rest: a name, a pattern, or empty. */
  readonly rest: string;
}

const magic = /[*?[\\]/;

/**
 * Splits a URI. The source is the bucket or the web server. For schemes without these, it is the folder before the
 * first pattern, or before the last slash if there is no pattern.
 */
export function splitUri(uri: string): SourceUri {
  const { parse, capabilities } = findScheme(uri);
  const location = parse(uri);
  // A scheme without listings has no patterns: the whole URI, including a signature in its query, names one file.
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
