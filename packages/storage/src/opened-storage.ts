/** A storage on top of a backend: relative paths, and everything that is the same for every scheme. */
import { isDeepStrictEqual } from "node:util";
import { folderOf, isSamePlace, joinKey, type Location } from "./address/uri.ts";
import type { Backend, BatchCall, CallOptions, Entry, VersionCall } from "./backend.ts";
import type { Capabilities } from "./capabilities.ts";
import { checkCount } from "./check-count.ts";
import { runAll } from "./concurrency/window.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { directoryEntry } from "./entry.ts";
import { FolderError, isStorageError, StorageError } from "./errors.ts";
import { Entries } from "./listing/entries.ts";
import { globEntries } from "./listing/glob.ts";
import { walkFolders } from "./listing/walk.ts";
import { downloadFile } from "./local-files/download-file.ts";
import { uploadFile } from "./local-files/upload-file.ts";
import type {
  Bytes,
  CopyFromOptions,
  DownloadOptions,
  GlobOptions,
  ListOptions,
  PresignOptions,
  ReadOptions,
  RemoveOptions,
  UploadOptions,
  WriteContent,
  WriteOptions,
} from "./options.ts";
import type { OpenedFile, OpenFileOptions } from "./random-access/opened-file.ts";
import type { Scheme } from "./scheme.ts";
import type { Storage, WalkedFolder } from "./storage.ts";
import { readObject, streamObject } from "./transfer/download.ts";
import { writeObject } from "./transfer/upload.ts";

export class OpenedStorage implements Storage {
  readonly #location: Location;
  readonly #scheme: Scheme;
  readonly #configuration: Configuration;
  readonly #files = new Set<OpenedFile>();
  #opening: Promise<Backend> | undefined;
  #closed = false;

  constructor(scheme: Scheme, location: Location, configuration: Configuration, backend?: Backend) {
    this.#scheme = scheme;
    this.#location = location;
    this.#configuration = configuration;
    if (backend) this.#opening = Promise.resolve(backend);
  }

  get uri(): string {
    return this.#location.uri;
  }

  get scheme(): string {
    return this.#location.scheme;
  }

  get capabilities(): Capabilities {
    return this.#scheme.capabilities;
  }

  list(options: ListOptions = {}): AsyncIterable<Entry> {
    return new Entries(this.#pages(options), options.signal);
  }

  async *#pages(options: ListOptions): AsyncGenerator<Entry[]> {
    this.#need("list");
    const { prefix = "", recursive = false, delimiter = "/", startAfter, ...call } = options;
    checkCount("concurrency", call.concurrency);
    const versions = options.versions ?? this.#versionAware;
    if (versions) this.#need("versions");
    const folder = folderOf(this.#location.path);
    const backend = await this.#backend();
    const pages = backend.list(folder + prefix, {
      ...call,
      versions,
      delimiter: recursive ? undefined : delimiter,
      startAfter: startAfter === undefined ? undefined : folder + startAfter,
    });
    for await (const page of pages) {
      for (const entry of page) entry.path = entry.path.slice(folder.length);
      // Some stores have an object that marks the opened folder itself; it is not an entry.
      yield page.some(({ path }) => path === "") ? page.filter(({ path }) => path !== "") : page;
    }
  }

  glob(pattern: string, options: GlobOptions = {}): AsyncIterable<Entry> {
    return globEntries(this.#listPrefix, pattern, options);
  }

  walk(path = "", options: CallOptions = {}): AsyncIterable<WalkedFolder> {
    return walkFolders(this.#listPrefix, folderOf(path), options);
  }

  async stat(path: string, options: VersionCall = {}): Promise<Entry> {
    const backend = await this.#backendFor(options);
    if (path === "" && this.#isBucket) {
      await this.#holdsAnything("", options);
      return directoryEntry("");
    }
    try {
      return { ...(await backend.stat(this.#key(path), options)), path };
    } catch (error) {
      if (error instanceof FolderError) return directoryEntry(folderOf(path));
      if (!isStorageError(error, "not_found") || options.version || !this.capabilities.list) throw error;
      if (await this.#holdsAnything(folderOf(path), options)) return directoryEntry(folderOf(path));
      throw error;
    }
  }

  async exists(path: string, options: VersionCall = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (isStorageError(error, "not_found")) return false;
      throw error;
    }
  }

  async read(path: string, options: ReadOptions = {}): Promise<Bytes> {
    return (await readObject(await this.#backendFor(options), this.#key(path), options)) as Bytes;
  }

  async readText(path: string, options: ReadOptions & { encoding?: string } = {}): Promise<string> {
    const decoder = decoderOf(options.encoding);
    return decoder.decode(await this.read(path, options));
  }

  readStream(path: string, options: ReadOptions = {}): ReadableStream<Bytes> {
    return ReadableStream.from(this.#pieces(path, options)) as ReadableStream<Bytes>;
  }

  async *#pieces(path: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
    yield* streamObject(await this.#backendFor(options), this.#key(path), options);
  }

  async open(path: string, options: OpenFileOptions = {}): Promise<OpenedFile> {
    const backend = await this.#backendFor(options);
    const key = this.#key(path);
    const entry = { ...(await backend.stat(key, options)), path };
    const configured = this.#configuration.values["default_cache_type"] ?? "readahead";
    const cache_type = options.cache_type === null ? "none" : (options.cache_type ?? String(configured));
    const { openFile } = await import("./random-access/opened-file.ts");
    const version = options.version ?? (this.#versionAware ? entry.version || undefined : undefined);
    return openFile({ backend, key, entry }, { ...options, version, cache_type }, this.#files);
  }

  async write(path: string, content: WriteContent, options: UploadOptions = {}): Promise<Entry> {
    const backend = await this.#backendToWrite(options);
    return { ...(await writeObject(backend, this.#key(path), content, options)), path };
  }

  async download(path: string, file: string, options: DownloadOptions = {}): Promise<number> {
    return downloadFile(await this.#backendFor(options), this.#key(path), file, options);
  }

  async upload(file: string, path: string, options: UploadOptions = {}): Promise<Entry> {
    const backend = await this.#backendToWrite(options);
    return { ...(await uploadFile(backend, file, this.#key(path), options)), path };
  }

  #backendToWrite(options: WriteOptions): Promise<Backend> {
    this.#need("write");
    checkCount("concurrency", options.concurrency);
    checkCount("partSize", options.partSize);
    if (Object.keys(options.metadata ?? {}).length > 0) this.#need("metadata");
    if (options.ifMatch !== undefined || options.ifNoneMatch !== undefined) this.#need("writeConditions");
    return this.#backend(options);
  }

  async copy(from: string, to: string, options: VersionCall = {}): Promise<void> {
    this.#need("write");
    await copyKey(await this.#backendFor(options), this.#key(from), this.#key(to), options);
  }

  async copyFrom(source: Storage, from: string, to: string, options: CopyFromOptions = {}): Promise<void> {
    this.#need("write");
    if (!(source instanceof OpenedStorage)) return this.#copyStream(source, from, to, options);
    const isCopied = options.ifMatch === undefined && (await this.#copyByStore(source, from, to, options));
    if (isCopied) options.onBytes?.(options.size ?? 0);
    else await this.#copyThrough(source, from, to, options);
  }

  /**
   * Lets the store copy the object. Returns false if the store cannot copy it, or if the two storages have different
   * parameters, because the target's credentials must be able to read the source.
   */
  async #copyByStore(source: OpenedStorage, from: string, to: string, options: CopyFromOptions): Promise<boolean> {
    const [here, there] = [this.#location, source.#location];
    if (!this.capabilities.serverCopy || here.scheme !== there.scheme) return false;
    if (!isDeepStrictEqual(source.#configuration.values, this.#configuration.values)) return false;
    const [key, sourceKey] = [this.#key(to), source.#key(from)];
    const backend = await this.#backendFor(options);
    if (isSamePlace(here, there)) await copyKey(backend, sourceKey, key, options);
    else if (backend.copy && backend.copiesBetweenBuckets) {
      const entry = await (await source.#backendFor(options)).stat(sourceKey, options);
      await backend.copy(sourceKey, key, { ...options, source: { bucket: there.bucket, entry } });
    } else return false;
    return true;
  }

  /**
   * Copies the bytes through this process. A local target is written without a stream. A local source is read without a
   * stream, unless the caller gives the ETag that it must have, because only a stream checks the ETag.
   */
  async #copyThrough(source: OpenedStorage, from: string, to: string, options: CopyFromOptions): Promise<void> {
    const { signal, size, onBytes, ifMatch } = options;
    const origin = await source.#backendFor(options);
    const target = await this.#backend(options);
    const [key, sourceKey] = [this.#key(to), source.#key(from)];
    const file = target.localPath?.(key);
    const sourceFile = ifMatch === undefined ? origin.localPath?.(sourceKey) : undefined;
    if (file !== undefined) await downloadFile(origin, sourceKey, file, options);
    else if (sourceFile !== undefined) await uploadFile(target, sourceFile, key, { signal, size, onBytes });
    else await this.#copyStream(source, from, to, options);
  }

  async #copyStream(source: Storage, from: string, to: string, options: CopyFromOptions): Promise<void> {
    const { size, onBytes, ...call } = options;
    await this.write(to, source.readStream(from, call), { size, onBytes, signal: call.signal });
  }

  async move(from: string, to: string, options: CallOptions = {}): Promise<void> {
    this.#need("write");
    const backend = await this.#backend(options);
    if (from === to) return;
    if (backend.move) return backend.move(this.#key(from), this.#key(to), options);
    await this.copy(from, to, options);
    await backend.remove(this.#key(from), options);
  }

  async remove(path: string, options: RemoveOptions = {}): Promise<void> {
    this.#need("write");
    const backend = await this.#backendFor(options);
    if (options.recursive) await this.#removeBelow(backend, path, options);
    else await backend.remove(this.#key(path), options);
  }

  async batch<T>(run: (storage: Storage) => Promise<T>, options: BatchCall = {}): Promise<T> {
    this.#need("write");
    const batch = (await this.#backend(options)).batch?.(options);
    if (!batch) return run(this);
    const storage = new OpenedStorage(this.#scheme, this.#location, this.#configuration, batch.backend);
    try {
      const result = await run(storage);
      await batch.finish();
      return result;
    } finally {
      await storage.close();
    }
  }

  async presign(path: string, options: PresignOptions = {}): Promise<string> {
    this.#need("presign");
    const backend = await this.#backendFor(options);
    if (!backend.presign) throw this.#cannot("presign");
    return backend.presign(this.#key(path), { method: "GET", expiresIn: 3600, ...options });
  }

  async createBucket(options: CallOptions = {}): Promise<void> {
    const backend = await this.#backend(options);
    if (!backend.createBucket) throw this.#cannot("createBucket");
    await backend.createBucket(options);
  }

  explainConfig() {
    return this.#configuration.explain();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#opening;
    this.#opening = undefined;
    await Promise.all([...this.#files].map((file) => file.close()));
    const backend = await opening?.catch(() => undefined);
    await backend?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #listPrefix = (prefix: string, recursive: boolean, options: CallOptions) =>
    this.list({ ...options, prefix, recursive, versions: false });

  get #versionAware(): boolean {
    return this.#configuration.values["version_aware"] === true;
  }

  /**
   * Returns the key of a path. Throws if the path means the bucket itself: a call that is meant for an object would
   * then have another effect, such as removing the bucket.
   */
  #key(path: string): string {
    const key = joinKey(this.#location.path, path);
    if (key !== "" || !this.#isBucket) return key;
    throw new StorageError("invalid", `${this.uri} is a bucket, not an object: give the path of an object in it`, {
      scheme: this.scheme,
    });
  }

  get #isBucket(): boolean {
    return this.capabilities.list && this.#location.bucket !== "" && this.#location.path === "";
  }

  /** Returns the backend, which is loaded at the first use. If loading fails, the next call tries again. */
  #backend(options: CallOptions = {}): Promise<Backend> {
    options.signal?.throwIfAborted();
    if (this.#closed)
      throw new StorageError("invalid", `${this.uri} is closed: open the storage again`, { scheme: this.scheme });
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /**
   * Returns the backend. Throws if the call names a version, but the store has no versions or `version_aware` is false.
   */
  #backendFor(options: VersionCall): Promise<Backend> {
    if (options.version && !this.capabilities.namedVersions) this.#need("versions");
    if (options.version && this.#configuration.values["version_aware"] === false) {
      const message = `${this.uri}: to read a version, open the storage with version_aware: true`;
      throw new StorageError("config", message, { scheme: this.scheme });
    }
    return this.#backend(options);
  }

  async #open(): Promise<Backend> {
    const { open } = await this.#scheme.load();
    return open({ location: this.#location, configuration: this.#configuration });
  }

  #need(capability: Exclude<keyof Capabilities, "keys">): void {
    if (!this.capabilities[capability]) throw this.#cannot(capability);
  }

  #cannot(capability: string): StorageError {
    return new StorageError("unsupported", `${this.scheme}:// does not support ${capability}`, { scheme: this.scheme });
  }

  async #holdsAnything(prefix: string, options: CallOptions): Promise<boolean> {
    const call = { signal: options.signal, prefix, versions: false };
    for await (const _ of this.list(call)) return true;
    return false;
  }

  /** Removes the object itself, if there is one, and everything below it. */
  async #removeBelow(backend: Backend, path: string, options: CallOptions): Promise<void> {
    if (backend.removeTree) return backend.removeTree(joinKey(this.#location.path, path), options);
    if (path !== "") await backend.remove(this.#key(path), options);
    const { removeMany, removeAtOnce = 1 } = backend;
    const batches = this.#batchesBelow(folderOf(path), removeMany ? removeAtOnce : 1, options);
    await runAll(batches, 8, (keys) =>
      removeMany ? removeMany.call(backend, keys, options) : backend.remove(keys[0] as string, options),
    );
  }

  async *#batchesBelow(prefix: string, size: number, options: CallOptions): AsyncGenerator<string[]> {
    let batch: string[] = [];
    const call = { signal: options.signal, prefix, recursive: true, versions: false, refresh: true };
    for await (const entry of this.list(call)) {
      batch.push(this.#key(entry.path));
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
}

function decoderOf(encoding: string | undefined): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch (error) {
    throw new StorageError("invalid", `${encoding} is not a known text encoding`, { cause: error });
  }
}

async function copyKey(backend: Backend, from: string, to: string, options: VersionCall): Promise<void> {
  // Some stores refuse to copy an object onto itself, so nothing is sent. A missing source is still an error.
  if (from === to && options.version === undefined) return void (await backend.stat(from, options));
  if (backend.copy) return backend.copy(from, to, options);
  await writeObject(backend, to, streamObject(backend, from, options), options);
}
