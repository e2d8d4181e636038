/** A storage over a backend: paths relative to the opened URI, and all that is built alike for every kind. */
import type { Backend, CallOptions, Entry, VersionCall } from "./backend.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Configuration } from "./configuration.ts";
import { readObject, streamObject } from "./download.ts";
import { Entries } from "./entries.ts";
import { isStorageError, StorageError } from "./errors.ts";
import { globEntries } from "./glob.ts";
import { downloadFile, uploadFile } from "./local-file.ts";
import type { Scheme } from "./scheme.ts";
import type {
  GlobOptions,
  ListOptions,
  PresignOptions,
  ReadOptions,
  RemoveOptions,
  Storage,
  WalkedFolder,
  WriteContent,
  WriteOptions,
} from "./storage.ts";
import { writeObject } from "./upload.ts";
import { folderOf, joinKey, type Location } from "./uri.ts";
import { walkFolders } from "./walk.ts";
import { runAll } from "./window.ts";

export class OpenedStorage implements Storage {
  readonly #location: Location;
  readonly #scheme: Scheme;
  readonly #configuration: Configuration;
  #opening: Promise<Backend> | undefined;
  #closed = false;

  constructor(scheme: Scheme, location: Location, configuration: Configuration) {
    this.#scheme = scheme;
    this.#location = location;
    this.#configuration = configuration;
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
    return new Entries(this.#pages(options));
  }

  async *#pages(options: ListOptions): AsyncGenerator<Entry[]> {
    this.#need("list");
    const { prefix = "", recursive = false, delimiter = "/", startAfter, ...call } = options;
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
      // The mark of the opened folder itself is no entry of it.
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
    const backend = await this.#backend(options);
    try {
      return { ...(await backend.stat(this.#key(path), options)), path };
    } catch (error) {
      if (!isStorageError(error, "not_found") || options.version || !this.capabilities.list) throw error;
      if (await this.#holdsAnything(folderOf(path), options)) return directory(folderOf(path));
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

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return readObject(await this.#backend(options), this.#key(path), options);
  }

  async readText(path: string, options: ReadOptions & { encoding?: string } = {}): Promise<string> {
    return new TextDecoder(options.encoding).decode(await this.read(path, options));
  }

  readStream(path: string, options: ReadOptions = {}): ReadableStream<Uint8Array> {
    return ReadableStream.from(this.#pieces(path, options));
  }

  async *#pieces(path: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
    yield* streamObject(await this.#backend(options), this.#key(path), options);
  }

  async write(path: string, content: WriteContent, options: WriteOptions = {}): Promise<Entry> {
    const backend = await this.#backendToWrite(options);
    return { ...(await writeObject(backend, this.#key(path), content, options)), path };
  }

  async download(path: string, file: string, options: ReadOptions = {}): Promise<number> {
    return downloadFile(await this.#backend(options), this.#key(path), file, options);
  }

  async upload(file: string, path: string, options: WriteOptions = {}): Promise<Entry> {
    const backend = await this.#backendToWrite(options);
    return { ...(await uploadFile(backend, file, this.#key(path), options)), path };
  }

  #backendToWrite(options: WriteOptions): Promise<Backend> {
    this.#need("write");
    if (options.ifMatch !== undefined || options.ifNoneMatch !== undefined) this.#need("writeConditions");
    return this.#backend(options);
  }

  async copy(from: string, to: string, options: VersionCall = {}): Promise<void> {
    this.#need("write");
    const backend = await this.#backend(options);
    // Onto itself there is nothing to do, which some stores call an error; what is not there is one everywhere.
    if (from === to && options.version === undefined) return void (await backend.stat(this.#key(from), options));
    if (backend.copy) return backend.copy(this.#key(from), this.#key(to), options);
    await writeObject(backend, this.#key(to), streamObject(backend, this.#key(from), options), options);
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
    const backend = await this.#backend(options);
    if (options.recursive) await this.#removeBelow(backend, path, options);
    else await backend.remove(this.#key(path), options);
  }

  async presign(path: string, options: PresignOptions = {}): Promise<string> {
    this.#need("presign");
    const backend = await this.#backend(options);
    if (!backend.presign) throw this.#cannot("presign");
    return backend.presign(this.#key(path), { method: "GET", expiresIn: 3600, ...options });
  }

  explainConfig() {
    return this.#configuration.explain();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#opening;
    this.#opening = undefined;
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

  #key(path: string): string {
    return joinKey(this.#location.path, path);
  }

  /** Loads the scheme at the first use. A failure is not kept: the next call tries again. */
  #backend(options: CallOptions = {}): Promise<Backend> {
    options.signal?.throwIfAborted();
    if (this.#closed) throw new StorageError("invalid", `${this.uri} is closed`, { scheme: this.scheme });
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Backend> {
    const { open } = await this.#scheme.load();
    return open({ location: this.#location, configuration: this.#configuration });
  }

  #need(capability: Exclude<keyof Capabilities, "keys">): void {
    if (!this.capabilities[capability]) throw this.#cannot(capability);
  }

  #cannot(capability: string): StorageError {
    return new StorageError("unsupported", `${this.scheme}:// has no ${capability}`, { scheme: this.scheme });
  }

  async #holdsAnything(prefix: string, options: CallOptions): Promise<boolean> {
    const call = { signal: options.signal, prefix, versions: false };
    for await (const _ of this.list(call)) return true;
    return false;
  }

  /** The object itself, if it is one, and everything below it. */
  async #removeBelow(backend: Backend, path: string, options: CallOptions): Promise<void> {
    if (backend.removeTree) return backend.removeTree(this.#key(path), options);
    if (path !== "") await backend.remove(this.#key(path), options);
    const { removeMany, removeAtOnce = 1 } = backend;
    const batches = this.#batchesBelow(folderOf(path), removeMany ? removeAtOnce : 1, options);
    await runAll(batches, 8, (keys) =>
      removeMany ? removeMany.call(backend, keys, options) : backend.remove(keys[0] as string, options),
    );
  }

  async *#batchesBelow(prefix: string, size: number, options: CallOptions): AsyncGenerator<string[]> {
    let batch: string[] = [];
    for await (const entry of this.#listPrefix(prefix, true, options)) {
      batch.push(this.#key(entry.path));
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
}

const directory = (path: string): Entry => ({
  path,
  size: 0,
  etag: "",
  version: "",
  is_latest: true,
  last_modified: null,
  type: "directory",
});
