/**
 * A listed file: its record, and the ways to read it. A read returns the content of the object that was listed. If the
 * object was replaced, the read fails.
 */
import type { CallOptions } from "../backend.ts";
import { StorageError } from "../errors.ts";
import type { Bytes, CopyFromOptions, DownloadOptions, ReadOptions } from "../options.ts";
import type { OpenedFile, OpenFileOptions } from "../random-access/opened-file.ts";
import type { Storage } from "../storage.ts";
import type { ContentCache } from "./content-cache.ts";
import type { FileRecord } from "./file-record.ts";
import { type ExportedFile, type ToStorageOptions, toStorage } from "./to-storage.ts";

/** What all files of one source share. */
export interface FileOrigin {
  readonly storage: Storage;
  readonly versionAware: boolean;
  readonly cache: ContentCache | undefined;
  /** Whether the storage was opened with the URI of a single file. */
  readonly isFile: boolean;
}

/** The options that a caller may set. Version and ETag are left out, because they come from the record. */
type Pinned<Options> = Omit<Options, "version" | "ifMatch">;

export class StorageFile implements FileRecord {
  readonly source: string;
  readonly path: string;
  readonly size: number;
  readonly version: string;
  readonly etag: string;
  readonly is_latest: boolean;
  readonly last_modified: Date | null;
  readonly location: null;
  readonly #origin: FileOrigin;

  constructor(record: FileRecord, origin: FileOrigin) {
    this.source = record.source;
    this.path = record.path;
    this.size = record.size;
    this.version = record.version;
    this.etag = record.etag;
    this.is_latest = record.is_latest;
    this.last_modified = record.last_modified;
    this.location = record.location;
    this.#origin = origin;
  }

  get uri(): string {
    return this.source.endsWith("/") ? this.source + this.path : `${this.source}/${this.path}`;
  }

  read(options: Pinned<ReadOptions> = {}): Promise<Bytes> {
    return this.#origin.storage.read(this.#key, { ...options, ...this.#pin() });
  }

  readText(options: Pinned<ReadOptions> & { encoding?: string } = {}): Promise<string> {
    return this.#origin.storage.readText(this.#key, { ...options, ...this.#pin() });
  }

  readStream(options: Pinned<ReadOptions> = {}): ReadableStream<Bytes> {
    return this.#origin.storage.readStream(this.#key, { ...options, ...this.#pin() });
  }

  /** Downloads into a local file. Returns the number of bytes. */
  download(file: string, options: Pinned<DownloadOptions> = {}): Promise<number> {
    return this.#origin.storage.download(this.#key, file, { ...options, ...this.#pin() });
  }

  /** Copies into another storage. */
  copyTo(target: Storage, path: string, options: Pinned<CopyFromOptions> = {}): Promise<void> {
    return target.copyFrom(this.#origin.storage, this.#key, path, { size: this.size, ...options, ...this.#pin() });
  }

  /** Opens the file for random access, through a cache. */
  async open(options: Omit<OpenFileOptions, "version"> = {}): Promise<OpenedFile> {
    const { version, ifMatch } = this.#pin();
    const file = await this.#origin.storage.open(this.#key, { ...options, version });
    if (ifMatch === undefined || file.entry.etag === ifMatch) return file;
    await file.close();
    throw new StorageError("precondition", `${this.uri} was replaced since it was listed; list the file again`, {
      key: this.path,
    });
  }

  /**
   * Returns the path of a local copy, and creates it if needed. The copy may be removed when newer copies need its
   * space.
   */
  ensureCached(options: CallOptions = {}): Promise<string> {
    const { cache } = this.#origin;
    if (!cache)
      throw new StorageError(
        "invalid",
        "ensureCached needs a cache: pass a ContentCache to fromStorage as the option cache",
      );
    return cache.ensure(this, (file) => this.download(file, options), options);
  }

  /** Exports this file; `toStorage` exports many. Returns its new path, relative to the target. */
  async export(uri: string, options: ToStorageOptions = {}): Promise<string> {
    const [exported] = await toStorage([this], uri, options);
    return (exported as ExportedFile).path;
  }

  get #key(): string {
    return this.#origin.isFile ? "" : this.path;
  }

  #pin(): { version: string | undefined; ifMatch: string | undefined } {
    const { storage, versionAware } = this.#origin;
    return {
      version: versionAware ? this.version || undefined : undefined,
      ifMatch: storage.capabilities.readConditions ? this.etag || undefined : undefined,
    };
  }
}
