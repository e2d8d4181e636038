/** The interface that callers see: an opened URI, and everything that can be done below it. */
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

/** One folder of a tree. */
export interface WalkedFolder {
  /** Empty for the opened URI itself, else with a slash at its end. */
  readonly path: string;
  readonly folders: readonly string[];
  readonly files: readonly Entry[];
}

/** Paths are relative to the opened URI, and the path "" is that URI itself. */
export interface Storage {
  readonly uri: string;
  readonly scheme: string;
  readonly capabilities: Capabilities;
  list(options?: ListOptions): AsyncIterable<Entry>;
  /** Files whose path matches; `*` and `?` stay within a folder, `**` does not, braces and classes work. */
  glob(pattern: string, options?: GlobOptions): AsyncIterable<Entry>;
  walk(path?: string, options?: CallOptions): AsyncIterable<WalkedFolder>;
  stat(path: string, options?: VersionCall): Promise<Entry>;
  exists(path: string, options?: VersionCall): Promise<boolean>;
  /** `end` is the byte after the last. A range beyond the end of the object is cut short, without an error. */
  read(path: string, options?: ReadOptions): Promise<Bytes>;
  readText(path: string, options?: ReadOptions & { encoding?: string }): Promise<string>;
  readStream(path: string, options?: ReadOptions): ReadableStream<Bytes>;
  /** For reading here and there, through a cache: `cache_type` names it, as in fsspec. Close it, or the storage. */
  open(path: string, options?: OpenFileOptions): Promise<OpenedFile>;
  write(path: string, content: WriteContent, options?: UploadOptions): Promise<Entry>;
  /** Into a file of this machine, ranges side by side, each in its place. Returns the number of bytes. */
  download(path: string, file: string, options?: DownloadOptions): Promise<number>;
  /** From a file of this machine, of which no more is in memory than is on its way. */
  upload(file: string, path: string, options?: UploadOptions): Promise<Entry>;
  copy(from: string, to: string, options?: VersionCall): Promise<void>;
  /**
   * From another storage, of whatever kind. Within one bucket, and on s3 between buckets, the store copies, unless an
   * ETag is named; else the bytes pass through here, from and to files of this machine as `upload` and `download` do.
   */
  copyFrom(source: Storage, from: string, to: string, options?: CopyFromOptions): Promise<void>;
  move(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Removing what is not there succeeds. */
  remove(path: string, options?: RemoveOptions): Promise<void>;
  /**
   * Runs with a storage whose writes and removals become one change when `run` has ended, and none when it fails: on the
   * hub, one commit. Meanwhile reads see what was there before. Kinds without such a thing make each change at once.
   */
  batch<T>(run: (storage: Storage) => Promise<T>, options?: BatchCall): Promise<T>;
  /** A URL that works without credentials for a while; `expiresIn` in seconds, an hour when absent. */
  presign(path: string, options?: PresignOptions): Promise<string>;
  /** Makes the bucket or container that the URI names, where the store has such things. */
  createBucket(options?: CallOptions): Promise<void>;
  /** Every parameter: its value, where that came from, and what it does here. Secrets are masked. */
  explainConfig(): ExplainedParameter[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
