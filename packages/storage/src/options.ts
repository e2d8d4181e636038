/** Options of the calls, and the types of bytes that callers pass and receive. */
import type { CallOptions, PresignCall, ReadCall, VersionCall, WriteCall } from "./backend.ts";

export interface ListOptions extends CallOptions {
  /**
   * Lists only paths that begin with this prefix, relative to the opened URI. `a/` lists the folder `a`; `a` also lists
   * `ab`.
   */
  readonly prefix?: string;
  /** Lists all levels below the opened URI instead of one. */
  readonly recursive?: boolean;
  /** The separator between levels; `/` by default. */
  readonly delimiter?: string;
  /** Lists only paths that sort after this one. */
  readonly startAfter?: string;
  /** Lists every version; by default, `version_aware` decides. */
  readonly versions?: boolean;
  /** Lists paths in byte order. A recursive listing is faster without this option. */
  readonly ordered?: boolean;
  /** Maximum number of requests at once; 16 by default. */
  readonly concurrency?: number;
  /** Asks the store even if `cache_timeout` has cached the listing. */
  readonly refresh?: boolean;
  /** Follows symbolic links to local folders; true by default. */
  readonly followLinks?: boolean;
}

export type GlobOptions = Pick<ListOptions, "signal" | "concurrency">;

export interface ReadOptions extends ReadCall {
  /** Maximum number of ranges of one object that are read at once; by default, the configuration decides. */
  readonly concurrency?: number;
  /** Size of a range in bytes; by default, the configuration decides. */
  readonly blockSize?: number;
}

export interface WriteOptions extends WriteCall {
  /** Maximum number of parts that are written at once; by default, the configuration decides. */
  readonly concurrency?: number;
  /** Size of a part in bytes; by default, the configuration decides. */
  readonly partSize?: number;
}

export interface TransferProgress {
  /**
   * Called with the number of bytes just transferred. If the store makes the copy, this function is called only once,
   * with the size of the object.
   */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export type DownloadOptions = ReadOptions & TransferProgress;
export type UploadOptions = WriteOptions & TransferProgress;

export interface CopyFromOptions extends VersionCall, TransferProgress {
  /** Copies only the object with this ETag. */
  readonly ifMatch?: string | undefined;
  /**
   * The expected size of the object in bytes. If the bytes pass through this process and the object has another size,
   * the copy fails.
   */
  readonly size?: number | undefined;
}

export interface RemoveOptions extends VersionCall {
  /** Also removes everything below the path, as for a folder. */
  readonly recursive?: boolean;
}

export interface PresignOptions extends Partial<PresignCall> {}

/**
 * The type of bytes that web APIs accept: `Uint8Array<ArrayBuffer>`, or `Uint8Array` if this version of TypeScript has
 * no such type.
 */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Bytes or text. Text is encoded as UTF-8. */
export type BytesOrText = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/**
 * Content to write: bytes, text, or a stream of bytes or text. A stream is a Node or web stream, or any iterable, and
 * is never held in memory as a whole.
 */
export type WriteContent = BytesOrText | Blob | AsyncIterable<BytesOrText> | Iterable<BytesOrText>;
