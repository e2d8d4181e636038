/** Options of the calls, and the types of bytes that callers pass and receive. */
import type { CallOptions, PresignCall, ReadCall, VersionCall, WriteCall } from "./backend.ts";

export interface ListOptions extends CallOptions {
  /**
   * Lists only paths that begin with this, relative to the opened URI: `a/` for the folder a, `a` for ab and a/b, too.
   */
  readonly prefix?: string;
  /** Lists everything below, instead of one level. */
  readonly recursive?: boolean;
  /** What separates levels; `/` by default. */
  readonly delimiter?: string;
  /** Lists only paths that sort after this one. */
  readonly startAfter?: string;
  /** Lists every version; by default, `version_aware` decides. */
  readonly versions?: boolean;
  /** Lists paths in byte order. A recursive listing is faster without. */
  readonly ordered?: boolean;
  /** Maximum requests at once; 16 by default. */
  readonly concurrency?: number;
  /** Asks the store even if `cache_timeout` has cached the listing. */
  readonly refresh?: boolean;
  /** Follows symbolic links to local folders; true by default. */
  readonly followLinks?: boolean;
}

export type GlobOptions = Pick<ListOptions, "signal" | "concurrency">;

export interface ReadOptions extends ReadCall {
  /** Ranges of one object read at once; by default, the configuration decides. */
  readonly concurrency?: number;
  /** Size of a range in bytes; by default, the configuration decides. */
  readonly blockSize?: number;
}

export interface WriteOptions extends WriteCall {
  /** Parts written at once; by default, the configuration decides. */
  readonly concurrency?: number;
  /** Size of a part in bytes; by default, the configuration decides. */
  readonly partSize?: number;
}

export interface TransferProgress {
  /** Called with the number of bytes just transferred; once with all of them if the store copies by itself. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export type DownloadOptions = ReadOptions & TransferProgress;
export type UploadOptions = WriteOptions & TransferProgress;

export interface CopyFromOptions extends VersionCall, TransferProgress {
  /** Copies only the object with this ETag. */
  readonly ifMatch?: string | undefined;
  /** The object's expected size. If the bytes pass through this process, another size is refused. */
  readonly size?: number | undefined;
}

export interface RemoveOptions extends VersionCall {
  /** Also removes everything below, as a folder. */
  readonly recursive?: boolean;
}

export interface PresignOptions extends Partial<PresignCall> {}

/** Bytes as web APIs take them, in every version of TypeScript: `Uint8Array<ArrayBuffer>` where that type exists. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Text is encoded in UTF-8. */
export type BytesOrText = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** Content to write: a whole value, or a stream that is never whole in memory, from Node, the web, or any iterable. */
export type WriteContent = BytesOrText | Blob | AsyncIterable<BytesOrText> | Iterable<BytesOrText>;
