/** What a URI, or a path of this machine, tells by itself. */

export const isLocal = (uri: string) =>
  !/^([a-z][a-z0-9_+.-]*::)*[a-z][a-z0-9+.-]*:\/\//i.test(uri) || /^(file|local):\/\//i.test(uri);

export const isBucket = (uri: string) =>
  /^(?!file:|local:|memory:|zip:|tar:)[a-z][a-z0-9+.-]*:\/\/[^/]+\/?$/i.test(uri);

const isUrl = (uri: string) => /^https?:/i.test(uri);

/** A chain is cut before what an archive lies in: `zip://inner/path` and `::s3://bucket/archive.zip`. */
function splitChain(uri: string): [path: string, outer: string] {
  const [, path = uri, outer = ""] =
    /^((?:fsspec\+)?[a-z]+:\/\/.*?)(::(?:\/|[a-z][a-z0-9_+.-]*(?:::|:\/\/)).*)$/is.exec(uri) ?? [];
  return [path, outer];
}

/** Whether it may be meant as a pattern; files are named so, too. Web servers have none. */
export const isPattern = (uri: string) => !isUrl(uri) && /[*?[{\\]/.test(uri);

/** What a pattern names whose letters are all taken for themselves; undefined: others are not. */
export function unescaped(pattern: string): string | undefined {
  return isPattern(pattern.replace(/\\./gsu, "")) ? undefined : pattern.replace(/\\(.)/gsu, "$1");
}

/** Neither the slash at the end of a folder is part of its name, nor the query of a URL, such as a signature. */
export function nameOf(uri: string): string {
  const path = (isUrl(uri) ? uri.replace(/[?#].*$/, "") : splitChain(uri)[0]).replace(/\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folder that it lies in, where that can be listed. */
export function folderAbove(uri: string): string | undefined {
  if (isUrl(uri) || isBucket(uri)) return undefined;
  const [path, outer] = splitChain(uri);
  const above = path.replace(/\/+$/, "").replace(/[^/]*$/, "");
  if (outer !== "") return above + outer;
  return above || (uri.startsWith("/") ? "/" : ".");
}
