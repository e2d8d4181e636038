/**
 * A chained URI in fsspec's form: links that are joined by `::`. Here it is split after its first link. Examples are
 * `zip://inner/path::s3://bucket/archive.zip` and `simplecache::s3://bucket/file`.
 */

export interface Chain {
  /** Scheme of the first link. */
  readonly scheme: string;
  /** Path within the first link; empty if the link has none, as in `simplecache::…`. */
  readonly path: string;
  /** Everything after the first `::`. */
  readonly outer: string;
}

const shape = /^([a-zA-Z][\w+.-]*)(?::\/\/(.*?))?::(.+)$/s;
const isUri = /^\/|^[a-zA-Z][\w+.-]*(:\/\/|::)/;

/**
 * Splits a chain after its first link. Returns undefined if the URI is not a chain. A `::` separates links only if a
 * URI or an absolute path follows it; any other `::` is part of a key.
 */
export function chainOf(uri: string): Chain | undefined {
  const [, scheme, path = "", outer] = shape.exec(uri) ?? [];
  if (scheme === undefined || outer === undefined || !isUri.test(outer)) return undefined;
  return { scheme: scheme.toLowerCase(), path, outer };
}
