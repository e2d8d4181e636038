/** A URI with a pattern, as the source that is opened, the folder that never varies, and what varies below it. */
import { findScheme } from "../registry.ts";
import { folderOf, type Location, schemeOf } from "../uri.ts";

export interface SourceUri {
  /** What is opened, and what records name. */
  readonly source: string;
  /** Below the source, without any pattern; empty, or with a slash at its end. */
  readonly folder: string;
  /** The rest: a name, a pattern, or nothing. */
  readonly rest: string;
}

const magic = /[*?[\\]/;

/** Buckets and web servers are sources by themselves; elsewhere the folder before the first pattern is. */
export function splitUri(uri: string): SourceUri {
  const location = findScheme(schemeOf(uri)).parse(uri);
  const { folder, rest } = splitPath(location.path, uri.endsWith("/"));
  if (location.bucket !== "") return { source: sourceOfBucket(location), folder, rest };
  const opened = folder === "/" ? folder : folder.replace(/\/$/, "");
  return { source: `${location.scheme}://${opened}`, folder: "", rest };
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
