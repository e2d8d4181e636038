/** Answers questions about a URI or local path from its text alone, without requests. */

export const isLocal = (uri: string) =>
  !/^([a-z][a-z0-9_+.-]*::)*[a-z][a-z0-9+.-]*:\/\//i.test(uri) || /^(file|local):\/\//i.test(uri);

export const isBucket = (uri: string) =>
  /^(?!file:|local:|memory:|zip:|tar:)[a-z][a-z0-9+.-]*:\/\/[^/]+\/?$/i.test(uri);

const isUrl = (uri: string) => /^https?:/i.test(uri);

/**
 * Splits a chained URI into its first link and the rest, such as `zip://inner/path` and `::s3://bucket/archive.zip`.
 */
function splitChain(uri: string): [path: string, outer: string] {
  const [, path = uri, outer = ""] =
    /^((?:fsspec\+)?[a-z]+:\/\/.*?)(::(?:\/|[a-z][a-z0-9_+.-]*(?:::|:\/\/)).*)$/is.exec(uri) ?? [];
  return [path, outer];
}

/**
 * Tells whether the text contains special characters of patterns, such as `*`. Such a text may still be the exact name
 * of a file. http(s) URLs are never patterns.
 */
export const isPattern = (uri: string) => !isUrl(uri) && /[*?[{\\]/.test(uri);

/**
 * Returns the name that a pattern matches, if all special characters in the pattern are escaped; otherwise undefined.
 */
export function unescaped(pattern: string): string | undefined {
  return isPattern(pattern.replace(/\\./gsu, "")) ? undefined : pattern.replace(/\\(.)/gsu, "$1");
}

/**
 * Returns the last part of a path, without a trailing slash. The query of a URL, which may contain a signature, is left
 * out.
 */
export function nameOf(uri: string): string {
  const path = (isUrl(uri) ? uri.replace(/[?#].*$/, "") : splitChain(uri)[0]).replace(/\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Returns the parent folder. Returns undefined for a bucket, and for an http(s) URL, because its parent cannot be
 * listed.
 */
export function folderAbove(uri: string): string | undefined {
  if (isUrl(uri) || isBucket(uri)) return undefined;
  const [path, outer] = splitChain(uri);
  const above = path.replace(/\/+$/, "").replace(/[^/]*$/, "");
  if (outer !== "") return above + outer;
  return above || (uri.startsWith("/") ? "/" : ".");
}
