/** Lists the files of one or many URIs, with patterns, as records that can be read. */
import type { CallOptions, Entry } from "../backend.ts";
import type { ClientConfigFor } from "../client-configs.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { expandBraces } from "../listing/braces.ts";
import { compileGlob } from "../listing/glob.ts";
import { openStorage } from "../open.ts";
import type { Storage } from "../storage.ts";
import type { ContentCache } from "./content-cache.ts";
import { recordOf } from "./file-record.ts";
import type { ListingCache } from "./listing-cache.ts";
import { isPattern, type SourceUri, splitUri } from "./source.ts";
import { type FileOrigin, StorageFile } from "./storage-file.ts";

export interface FromStorageOptions<Uri extends string = string> extends CallOptions {
  readonly client_config?: ClientConfigFor<Uri>;
  /** Lists everything below a folder instead of one level; true by default. */
  readonly recursive?: boolean;
  /** Includes old versions; the storage must be `version_aware`. */
  readonly versions?: boolean;
  /** The cache that `ensureCached` uses. */
  readonly cache?: ContentCache;
  /** The cache for listings; if it is absent, listings are not cached. */
  readonly listing_cache?: ListingCache;
  /** Lists again and ignores the cached listing. */
  readonly update?: boolean;
}

/**
 * Returns the files of the given URIs. Braces are expanded first. Each resulting URI is a file, a folder, or a pattern
 * below a bucket. No request is sent before the iteration begins. If a URI is neither a file nor a folder, throws a
 * `not_found` error. A pattern may match nothing.
 */
export function fromStorage<Uri extends string>(
  uris: Uri | readonly Uri[],
  options: FromStorageOptions<Uri> = {},
): FileListing {
  const places = [uris].flat().flatMap(expandBraces).map(splitUri);
  return new FileListing(places, options as FromStorageOptions);
}

/**
 * Yields files while they are listed. Each iteration lists again. Closing the listing closes the connections of its
 * files.
 */
export class FileListing {
  readonly #places: readonly SourceUri[];
  readonly #options: FromStorageOptions;
  readonly #origins = new Map<string, FileOrigin>();

  constructor(places: readonly SourceUri[], options: FromStorageOptions) {
    this.#places = places;
    this.#options = options;
    // Reports an invalid client_config now, not at the first iteration.
    for (const place of places) this.#originOf(place);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StorageFile> {
    const seen = this.#places.length > 1 ? new Set<string>() : undefined;
    for (const place of this.#places) {
      const origin = this.#originOf(place);
      for await (const entry of entriesOf(origin, place, this.#options)) {
        const name = JSON.stringify([place.source, entry.path, entry.version]);
        if (seen?.has(name)) continue;
        seen?.add(name);
        yield new StorageFile(recordOf(place.source, entry), origin);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map(({ storage }) => storage.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #originOf({ source, opened }: SourceUri): FileOrigin {
    const known = this.#origins.get(opened);
    if (known) return known;
    const storage = openStorage(opened, this.#options.client_config);
    const versionAware = storage.explainConfig().some(({ key, value }) => key === "version_aware" && value === true);
    const origin = { storage, versionAware, cache: this.#options.cache, isFile: opened !== source };
    this.#origins.set(opened, origin);
    return origin;
  }
}

async function* entriesOf(origin: FileOrigin, place: SourceUri, options: FromStorageOptions): AsyncGenerator<Entry> {
  const path = place.folder + place.rest;
  if (origin.isFile) {
    yield { ...(await origin.storage.stat("", options)), path };
    return;
  }
  if (isPattern(place.rest)) return yield* matching(origin, place, options);
  const folder = path === "" || path.endsWith("/") ? path : `${path}/`;
  if (yield* listed(origin, place, folder, options)) return;
  yield await theFile(origin.storage, place, path, options);
}

/**
 * Yields the files below a prefix, of all levels or of one level. Leaves out folder markers, which are objects whose
 * name ends with a slash. At the end, returns whether anything exists below the prefix.
 */
async function* listed(
  { storage, versionAware }: FileOrigin,
  { source }: SourceUri,
  prefix: string,
  options: FromStorageOptions,
): AsyncGenerator<Entry, boolean> {
  const { recursive = true, listing_cache, signal, update } = options;
  const isWanted = (entry: Entry) => isFile(entry) && (entry.is_latest || options.versions === true);
  const known = update ? undefined : listing_cache?.find(source, prefix);
  if (known) {
    yield* known.filter((entry) => isWanted(entry) && (recursive || isDirect(prefix, entry)));
    return known.length > 0;
  }
  const all: Entry[] = [];
  let found = false;
  for await (const entry of storage.list({ prefix, recursive, signal, versions: versionAware })) {
    found = true;
    if (listing_cache && recursive) all.push({ ...entry });
    if (isWanted(entry)) yield entry;
  }
  if (recursive) listing_cache?.keep(source, prefix, all);
  return found;
}

const isFile = ({ type, path }: Entry) => type === "file" && !path.endsWith("/");
const isDirect = (prefix: string, { path }: Entry) => !path.slice(prefix.length).includes("/");

/**
 * Yields the files that match a glob pattern. With versions or with a cache of listings, the tree cannot be walked
 * folder by folder. In these cases, lists everything below the folder before the first special character of the
 * pattern, and tests each path against the pattern.
 */
async function* matching(origin: FileOrigin, place: SourceUri, options: FromStorageOptions): AsyncGenerator<Entry> {
  const { storage, versionAware } = origin;
  const { folder, rest } = place;
  if (!versionAware && !options.listing_cache) {
    for await (const entry of storage.glob(folder + rest, { signal: options.signal })) if (isFile(entry)) yield entry;
    return;
  }
  const wanted = compileGlob(rest);
  for await (const entry of listed(origin, place, folder, { ...options, recursive: true })) {
    if (wanted.test(entry.path.slice(folder.length))) yield entry;
  }
}

async function theFile(storage: Storage, place: SourceUri, path: string, { signal }: CallOptions): Promise<Entry> {
  const missing = new StorageError("not_found", `${place.source}/${path}: there is no such file or folder`, {
    scheme: storage.scheme,
    key: path,
  });
  if (path === "" || path.endsWith("/")) throw missing;
  try {
    const entry = await storage.stat(path, { signal });
    if (entry.type === "file") return entry;
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
  throw missing;
}
