/**
 * `cache_timeout`: caches listings, which also answer `stat` for the objects in them. All cached listings are dropped
 * when this storage changes an object, or when a read shows that an entry is stale.
 */
import type { Backend, Content, Entry, ListCall, ReadCall, Upload, VersionCall } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";

/** Maximum number of entries in the cache, over all listings. */
const mostEntries = 100_000;

interface Kept {
  readonly entries: readonly Entry[];
  readonly until: number;
}

export function withMetadataCache(backend: Backend, seconds: number, now: () => number = Date.now): Backend {
  const cache = new MetadataCache(seconds * 1000, now);
  const change = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      cache.clear();
    }
  };
  return {
    ...backend,
    list: (prefix, call) => listThrough(cache, backend, prefix, call),
    stat: (key, call) => statThrough(cache, backend, key, call),
    read: (key, call) => readThrough(cache, backend, key, call),
    put: (key, bytes, call) => change(backend.put(key, bytes, call)),
    upload: async (key, call) => clearingUpload(await backend.upload(key, call), change),
    remove: (key, call) => change(backend.remove(key, call)),
    ...(backend.copy && { copy: (...words) => change((backend.copy as NonNullable<Backend["copy"]>)(...words)) }),
    ...(backend.removeMany && {
      removeMany: (...words) => change((backend.removeMany as NonNullable<Backend["removeMany"]>)(...words)),
    }),
  };
}

const clearingUpload = (upload: Upload, change: <T>(work: Promise<T>) => Promise<T>): Upload => ({
  put: (part, bytes) => upload.put(part, bytes),
  finish: () => change(upload.finish()),
  abort: () => upload.abort(),
});

class MetadataCache {
  readonly #kept = new Map<string, Kept>();
  readonly #lifetime: number;
  readonly #now: () => number;
  #size = 0;
  /** Number of changes so far. A listing that was requested before a change and arrives after it is not cached. */
  changes = 0;

  constructor(lifetime: number, now: () => number) {
    this.#lifetime = lifetime;
    this.#now = now;
  }

  get(name: string): readonly Entry[] | undefined {
    const kept = this.#kept.get(name);
    return kept && kept.until > this.#now() ? kept.entries : undefined;
  }

  set(name: string, entries: readonly Entry[], changes: number): void {
    if (changes !== this.changes || entries.length > mostEntries) return;
    if (this.#size + entries.length + 1 > mostEntries) this.#forget();
    this.#size += entries.length + 1 - (this.#kept.get(name)?.entries.length ?? -1);
    this.#kept.set(name, { entries, until: this.#now() + this.#lifetime });
  }

  clear(): void {
    this.changes += 1;
    this.#forget();
  }

  #forget(): void {
    this.#kept.clear();
    this.#size = 0;
  }
}

/**
 * Answers from the cache if the object is in a cached listing. Otherwise asks the store, and does not cache the answer,
 * as gcsfs does.
 */
async function statThrough(cache: MetadataCache, backend: Backend, key: string, call: VersionCall): Promise<Entry> {
  call.signal?.throwIfAborted();
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  for (const ordered of [false, true]) {
    const listed = cache.get(nameOf(folder, { delimiter: "/", ordered })) ?? [];
    const kept = listed.find(({ path, version }) => path === key && (!call.version || call.version === version));
    if (kept) return { ...kept };
  }
  return backend.stat(key, call);
}

/** Reads from the store. If the object was replaced or is missing, the cached listings are stale and are dropped. */
async function readThrough(cache: MetadataCache, backend: Backend, key: string, call: ReadCall): Promise<Content> {
  try {
    return await backend.read(key, call);
  } catch (error) {
    if (isStorageError(error, "precondition", "not_found")) cache.clear();
    throw error;
  }
}

const nameOf = (prefix: string, { delimiter, startAfter, versions = false, ordered = false }: ListCall) =>
  JSON.stringify([prefix, delimiter, startAfter, versions, ordered]);

/** Lists through the cache. The cache keeps and returns copies of entries, because callers may change entries. */
async function* listThrough(
  cache: MetadataCache,
  backend: Backend,
  prefix: string,
  call: ListCall,
): AsyncGenerator<Entry[]> {
  const name = nameOf(prefix, call);
  const kept = call.refresh ? undefined : cache.get(name);
  if (kept) {
    call.signal?.throwIfAborted();
    yield kept.map((entry) => ({ ...entry }));
    return;
  }
  const { changes } = cache;
  let seen: Entry[] | undefined = [];
  for await (const page of backend.list(prefix, call)) {
    if (seen && seen.length + page.length <= mostEntries) for (const entry of page) seen.push({ ...entry });
    else seen = undefined;
    yield page;
  }
  if (seen) cache.set(name, seen, changes);
}
