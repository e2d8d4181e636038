/** The interface for callers: an opened URI, and everything that can be done below it. */
import type { BatchCall, CallOptions, Entry, VersionCall } from "./backend.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ExplainedParameter } from "./configuration/parameters.ts";
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
} from "./options.ts";
import type { OpenedFile, OpenFileOptions } from "./random-access/opened-file.ts";

/** One folder of a tree, as `walk` yields it. */
export interface WalkedFolder {
  /** Empty for the opened URI itself; any other path ends with a slash. */
  readonly path: string;
  readonly folders: readonly string[];
  readonly files: readonly Entry[];
}

/** An opened URI. All paths are relative to it; the path "" means the opened URI itself. */
export interface Storage {
  readonly uri: string;
  readonly scheme: string;
  readonly capabilities: Capabilities;
  list(options?: ListOptions): AsyncIterable<Entry>;
  /**
   * Yields files whose path matches the pattern. `*` and `?` match within a folder, `**` across folders; braces
   * (`{a,b}`) and classes (`[a-z]`) are supported.
   */
  glob(pattern: string, options?: GlobOptions): AsyncIterable<Entry>;
  walk(path?: string, options?: CallOptions): AsyncIterable<WalkedFolder>;
  stat(path: string, options?: VersionCall): Promise<Entry>;
  exists(path: string, options?: VersionCall): Promise<boolean>;
  /**
   * Reads an object or a range of it. `end` is the offset after the last byte. A range that goes beyond the end of the
   * object is cut short without an error.
   */
  read(path: string, options?: ReadOptions): Promise<Bytes>;
  readText(path: string, options?: ReadOptions & { encoding?: string }): Promise<string>;
  readStream(path: string, options?: ReadOptions): ReadableStream<Bytes>;
  /**
   * Opens a file for random access through a cache; `cache_type` is the name of the cache, as in fsspec. Close the file
   * or the storage afterwards.
   */
  open(path: string, options?: OpenFileOptions): Promise<OpenedFile>;
  write(path: string, content: WriteContent, options?: UploadOptions): Promise<Entry>;
  /** Downloads into a local file, with several ranges at once. Returns the number of bytes. */
  download(path: string, file: string, options?: DownloadOptions): Promise<number>;
  /** Uploads a local file. Only the parts that are being sent are in memory. */
  upload(file: string, path: string, options?: UploadOptions): Promise<Entry>;
  copy(from: string, to: string, options?: VersionCall): Promise<void>;
  /**
   * Copies from another storage of any kind. Within one bucket, and on s3 also between buckets, the store makes the
   * copy, unless an ETag is given. In all other cases the bytes pass through this process. Local files are then read
   * and written as in `upload` and `download`.
   */
  copyFrom(source: Storage, from: string, to: string, options?: CopyFromOptions): Promise<void>;
  move(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Removes an object. Also succeeds if there is nothing to remove. */
  remove(path: string, options?: RemoveOptions): Promise<void>;
  /**
   * Calls `run` with a storage that collects writes and removals. When `run` has succeeded, they are made together as
   * one change; on the Hugging Face hub, this is one commit. If `run` fails, nothing is changed. Until the change is
   * made, reads see the old state. Stores without batches make each change immediately.
   */
  batch<T>(run: (storage: Storage) => Promise<T>, options?: BatchCall): Promise<T>;
  /** Returns a URL that works without credentials for `expiresIn` seconds, an hour by default. */
  presign(path: string, options?: PresignOptions): Promise<string>;
  /** Creates the bucket or container of the opened URI, if this kind of store has buckets or containers. */
  createBucket(options?: CallOptions): Promise<void>;
  /** Returns every parameter with its value, its source, and its meaning. Secrets are masked. */
  explainConfig(): ExplainedParameter[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
