/** The interface that callers see: an opened URI, and everything that can be done below it. */
import type { BatchCall, CallOptions, Entry, PresignCall, ReadCall, VersionCall, WriteCall } from "./backend.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ExplainedParameter } from "./configuration/parameters.ts";
import type { OpenedFile, OpenFileOptions } from "./random-access/opened-file.ts";

export interface ListOptions extends CallOptions {
  /** Only what begins with this, relative to the opened URI: `a/` for the folder a, `a` for ab and a/b, too. */
  readonly prefix?: string;
  /** Everything below, instead of one level. */
  readonly recursive?: boolean;
  /** What ends a level; `/` when absent. */
  readonly delimiter?: string;
  /** Only paths that sort after this one. */
  readonly startAfter?: string;
  /** Every version; when absent, what `version_aware` says. */
  readonly versions?: boolean;
  /** In the order of the paths' bytes. A recursive listing is faster without. */
  readonly ordered?: boolean;
  /** Requests at once; 16 when absent. */
  readonly concurrency?: number;
  /** Ask the store, also where `cache_timeout` keeps listings. */
  readonly refresh?: boolean;
  /** Into links to folders of this machine; true when absent. */
  readonly followLinks?: boolean;
}

export type GlobOptions = Pick<ListOptions, "signal" | "concurrency">;

export interface ReadOptions extends ReadCall {
  /** Ranges of one object at once; when absent, what the configuration says. */
  readonly concurrency?: number;
  /** Bytes of one range; when absent, what the configuration says. */
  readonly blockSize?: number;
}

export interface WriteOptions extends WriteCall {
  /** Parts at once; when absent, what the configuration says. */
  readonly concurrency?: number;
  /** Bytes of one part; when absent, what the configuration says. */
  readonly partSize?: number;
}

export interface TransferProgress {
  /** Told of bytes that have just moved; all at once where a store copies by itself. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export type DownloadOptions = ReadOptions & TransferProgress;
export type UploadOptions = WriteOptions & TransferProgress;

export interface CopyFromOptions extends VersionCall, TransferProgress {
  /** Only the object with this ETag. */
  readonly ifMatch?: string | undefined;
  /** Of the object, where it is known: where the bytes pass through here, another one is refused. */
  readonly size?: number | undefined;
}

export interface RemoveOptions extends VersionCall {
  /** Also everything below, as a folder. */
  readonly recursive?: boolean;
}

export interface PresignOptions extends Partial<PresignCall> {}

/** Bytes as the functions of the web take them, in every version of TypeScript: `Uint8Array<ArrayBuffer>` where there is such. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Text is written in UTF-8. */
export type BytesOrText = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** What can be written: all at once, or a stream, which is never whole in memory: Node's, the web's, any iterable. */
export type WriteContent = BytesOrText | Blob | AsyncIterable<BytesOrText> | Iterable<BytesOrText>;

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
