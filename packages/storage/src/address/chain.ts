/** Chained URIs, as fsspec writes them: `zip://inner/path::s3://bucket/archive.zip`, `simplecache::s3://bucket/file`. */

export interface Chain {
  /** Of the first link. */
  readonly scheme: string;
  /** Within the first link; empty where it is a name alone. */
  readonly path: string;
  /** All that follows the first `::`. */
  readonly outer: string;
}

const shape = /^([a-zA-Z][\w+.-]*)(?::\/\/(.*?))?::(.+)$/s;
const isUri = /^\/|^[a-zA-Z][\w+.-]*(:\/\/|::)/;

/** Undefined: it is none. Keys may have `::` in them, where what follows is no URI and no path from the root. */
export function chainOf(uri: string): Chain | undefined {
  const [, scheme, path = "", outer] = shape.exec(uri) ?? [];
  if (scheme === undefined || outer === undefined || !isUri.test(outer)) return undefined;
  return { scheme: scheme.toLowerCase(), path, outer };
}
