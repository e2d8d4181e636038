/** A file opened for random access. Reads go through a cache, and every read sees the object that was opened. */
import type { Backend, CallOptions, Entry, VersionCall } from "../backend.ts";
import { checkCount } from "../check-count.ts";
import { checkChoice } from "../configuration/choice.ts";
import { StorageError } from "../errors.ts";
import type { Bytes } from "../options.ts";
import { readObject } from "../transfer/download.ts";
import { type CacheType, cacheTypes } from "./cache-types.ts";
import { createCache } from "./create-cache.ts";
import type { CacheOptions, FetchRange, FileCache } from "./file-cache.ts";

export interface OpenFileOptions extends VersionCall {
  /** Size in bytes of a block and of the read-ahead; by default, the configuration decides. */
  readonly block_size?: number | undefined;
  /** Name of the cache. Null means `none`; by default, the configuration decides. */
  readonly cache_type?: CacheType | null | undefined;
  readonly cache_options?: CacheOptions | undefined;
}

export interface OpenedFile {
  readonly size: number;
  /** The object that was opened. Later reads return bytes of the same object, or fail. */
  readonly entry: Entry;
  readonly cache_type: CacheType;
  readonly block_size: number;
  /** Reads up to `length` bytes. Returns fewer bytes at the end of the file, and none beyond the end. */
  read(offset: number, length: number, options?: CallOptions): Promise<Bytes>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An object of a store, and its metadata when it was found. */
export interface FoundObject {
  readonly backend: Backend;
  readonly key: string;
  readonly entry: Entry;
}

/**
 * Opens an object. If the cache of the file must be closed, adds the file to `held`. Closing the file removes it from
 * `held`.
 */
export async function openFile(
  { backend, key, entry }: FoundObject,
  options: Omit<OpenFileOptions, "cache_type"> & { readonly cache_type: string },
  held: Set<OpenedFile>,
): Promise<OpenedFile> {
  const type = checkChoice("cache_type", options.cache_type, cacheTypes);
  if (!Number.isFinite(entry.size)) {
    throw new StorageError(
      "unsupported",
      `${key}: the store does not report the file's size, which random access needs; read the file as a stream`,
      { key },
    );
  }
  const blockSize = options.block_size ?? backend.transfer.partSize;
  checkCount("block_size", blockSize);
  const pin = { version: options.version, ifMatch: entry.etag || undefined };
  // A reader's signal aborts only its own read. A prefetch belongs to no reader; it is aborted when the file is closed.
  const closing = new AbortController();
  const fetch: FetchRange = (start, end) => readObject(backend, key, { ...pin, start, end, signal: closing.signal });
  const setup = { fetch, size: entry.size, blockSize, options: options.cache_options ?? {} };
  const cache = await createCache[type](setup);
  const file: OpenedFile = new CachedFile(entry, { type, blockSize, cache }, () => {
    held.delete(file);
    closing.abort(new StorageError("invalid", `${entry.path} was closed while it was read; open the file again`));
  });
  if (cache.close) held.add(file);
  return file;
}

/** A cache, and the settings that it was created with. */
interface ConfiguredCache {
  readonly type: CacheType;
  readonly blockSize: number;
  readonly cache: FileCache;
}

class CachedFile implements OpenedFile {
  readonly entry: Entry;
  readonly cache_type: CacheType;
  readonly block_size: number;
  readonly #cache: FileCache;
  readonly #onClose: () => void;
  #before: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(entry: Entry, { type, blockSize, cache }: ConfiguredCache, onClose: () => void) {
    this.entry = entry;
    this.cache_type = type;
    this.block_size = blockSize;
    this.#cache = cache;
    this.#onClose = onClose;
  }

  get size(): number {
    return this.entry.size;
  }

  async read(offset: number, length: number, { signal }: CallOptions = {}): Promise<Bytes> {
    signal?.throwIfAborted();
    if (this.#closed) throw new StorageError("invalid", `${this.entry.path} is closed: open the file again`);
    if (!Number.isInteger(offset) || offset < 0 || Number.isNaN(length) || length < 0) {
      throw new StorageError(
        "invalid",
        `cannot read ${length} bytes at offset ${offset}: expected a length and an offset of 0 or more`,
      );
    }
    const end = Math.min(offset + length, this.size);
    if (offset >= end) return new Uint8Array();
    const reading = this.#cache.sharesReads ? this.#cache.read(offset, end) : this.#inTurn(offset, end);
    const bytes = await (signal ? untilAborted(reading, signal) : reading);
    // Returns a copy, so that the caller cannot change the cache.
    return this.cache_type === "none" ? (bytes as Bytes) : new Uint8Array(bytes);
  }

  #inTurn(start: number, end: number): Promise<Uint8Array> {
    const reading = this.#before.then(() => this.#cache.read(start, end));
    this.#before = reading.catch(() => {});
    return reading;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    await this.#before;
    await this.#cache.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Waits for a block that is being fetched, but only until the signal aborts. The fetch continues after that, because
 * another read may need the same block.
 */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
