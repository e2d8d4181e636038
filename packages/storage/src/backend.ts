/**
 * The interface that a scheme implements: the few calls that differ from store to store. Everything else (relative
 * paths, whole and parallel reads, uploads in parts, globs, moves, trees) is built on these calls for all schemes. Keys
 * are complete and exact, never relative. Every call that fails rejects with a StorageError, or with the signal's
 * reason if its signal was aborted.
 */
import type { RetryPolicy } from "./concurrency/retry.ts";

/**
 * What a listing or a stat returns for one object. A backend puts the whole key into `path`; the storage then makes the
 * path relative to the opened URI.
 */
export interface Entry {
  path: string;
  size: number;
  /** ETag without quotes; empty if the store has none. */
  etag: string;
  /** Version id; empty if the store keeps no versions. */
  version: string;
  is_latest: boolean;
  last_modified: Date | null;
  /** The path of a directory ends with a slash, because it is the prefix of the paths below the directory. */
  type: "file" | "directory";
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListCall extends CallOptions {
  /**
   * If a delimiter is given, lists one level and shows deeper keys as directories. If not, lists everything below the
   * prefix.
   */
  readonly delimiter?: string | undefined;
  /** Lists only keys that sort after this key. */
  readonly startAfter?: string | undefined;
  /** Lists all versions instead of the latest. */
  readonly versions?: boolean | undefined;
  /**
   * Lists keys in byte order. If this is not set, the order is free, so that a backend may list several ranges at once.
   */
  readonly ordered?: boolean | undefined;
  /** Maximum number of requests at once. */
  readonly concurrency?: number | undefined;
  /** Asks the store even if a listing is cached. */
  readonly refresh?: boolean | undefined;
  /** If false, symbolic links to folders are left out. */
  readonly followLinks?: boolean | undefined;
}

export interface VersionCall extends CallOptions {
  readonly version?: string | undefined;
}

export interface CopyCall extends VersionCall {
  /**
   * Bucket and entry of the source, if the source lies in another bucket. Used only by backends with
   * `copiesBetweenBuckets`.
   */
  readonly source?: { readonly bucket: string; readonly entry: Entry } | undefined;
}

export interface ReadCall extends VersionCall {
  /** Offset of the first byte; 0 by default. */
  readonly start?: number | undefined;
  /** Offset after the last byte; the end of the object by default. A larger offset means the end of the object, too. */
  readonly end?: number | undefined;
  readonly ifMatch?: string | undefined;
}

/** A range of the bytes of an object: from the offset `start` up to, but not including, the offset `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The content of an object or of a range, while it arrives. The receiver must read the body to its end, or end the
 * iteration. `start` and `end` are the range that the body holds. They may differ from the requested range, because
 * some servers ignore ranges.
 */
export interface Content extends ByteRange {
  readonly entry: Entry;
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the whole body, if the backend has a faster way than iterating. */
  bytes?(): Promise<Uint8Array>;
  /**
   * Fills a buffer with the next bytes and returns their number. The number is less than the size of the buffer only if
   * the body has ended or broken off. If the body broke off, the next call throws the error.
   */
  fill?: ((buffer: Uint8Array) => Promise<number>) | undefined;
  /** Abandons the unread rest of the body. Needed only if ending the iteration does not abandon it. */
  close?(): void;
}

export interface WriteCall extends CallOptions {
  readonly contentType?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Writes only if the current object has this ETag. */
  readonly ifMatch?: string | undefined;
  /** Writes only if there is no object yet. */
  readonly ifNoneMatch?: "*" | undefined;
  /** Size of the content, if it is known. */
  readonly size?: number | undefined;
}

/** A multipart upload. The object stays invisible until `finish`; `abort` leaves nothing behind. */
export interface Upload {
  /**
   * Uploads a part. Part numbers begin at 1. Parts arrive in any order and several at once, unless
   * `transfer.partsInOrder` is true. The caller reuses the buffer when the promise has resolved, so copy bytes that are
   * needed longer.
   */
  put(part: number, bytes: Uint8Array): Promise<void>;
  finish(): Promise<Entry>;
  abort(): Promise<void>;
}

/** How large objects are transferred, from the configuration. */
export interface Transfer {
  /** Size in bytes of the parts of an upload and of the ranges of a download. */
  readonly partSize: number;
  /** The store's minimum size in bytes of every part but the last. */
  readonly minimumPart: number;
  readonly maximumParts: number;
  /** Objects of up to this many bytes are written in one request. */
  readonly wholeUpTo: number;
  /** Maximum number of parts or ranges of one object that are transferred at once. */
  readonly concurrency: number;
  /** Parts must be written one after the other, even if a caller asks for concurrency. */
  readonly partsInOrder?: true;
  /** Retry policy for downloads whose body breaks off. */
  readonly retry: RetryPolicy;
}

export interface BatchCall extends CallOptions {
  /** Commit message, for stores that make commits. */
  readonly message?: string | undefined;
}

/** Changes that become visible together. */
export interface Batch {
  /** A backend that collects writes and removals; its reads see the state before the batch. */
  readonly backend: Backend;
  finish(): Promise<void>;
}

export interface PresignCall extends VersionCall {
  readonly method: "GET" | "PUT";
  /** Lifetime of the URL in seconds. */
  readonly expiresIn: number;
}

export interface Backend {
  readonly transfer: Transfer;
  /**
   * Yields pages of entries; directories appear only with a delimiter. A prefix without objects is not an error: the
   * listing is empty.
   */
  list(prefix: string, call: ListCall): AsyncIterable<Entry[]>;
  stat(key: string, call: VersionCall): Promise<Entry>;
  read(key: string, call: ReadCall): Promise<Content>;
  /** Writes an object in one request. */
  put(key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry>;
  /** Starts a multipart upload. */
  upload(key: string, call: WriteCall): Promise<Upload>;
  /**
   * Returns the local path of an object, even if the object does not exist. Only for stores on this machine's file
   * system. With the path, a file can be copied without a stream.
   */
  localPath?(key: string): string;
  copy?(from: string, to: string, call: CopyCall): Promise<void>;
  /** The store can also copy objects from other buckets, if the credentials may read them. */
  readonly copiesBetweenBuckets?: true;
  /**
   * Moves an object with one request to the store. For backends without this method, a move is a copy and a removal.
   */
  move?(from: string, to: string, call: CallOptions): Promise<void>;
  /** Removes an object. Also succeeds if the object does not exist, because an earlier attempt may have removed it. */
  remove(key: string, call: VersionCall): Promise<void>;
  /** Removes up to `removeAtOnce` objects in one call. Absent if the store has no such call. */
  removeMany?(keys: readonly string[], call: CallOptions): Promise<void>;
  readonly removeAtOnce?: number;
  /** Removes a folder with its contents, for stores with real folders. */
  removeTree?(key: string, call: CallOptions): Promise<void>;
  /** Starts a batch, if the store can make many changes atomically. An unfinished batch changes nothing. */
  batch?(call: BatchCall): Batch;
  presign?(key: string, call: PresignCall): Promise<string>;
  /** Creates the bucket or container of the opened URI. Absent if the store has neither. */
  createBucket?(call: CallOptions): Promise<void>;
  close(): Promise<void>;
}
