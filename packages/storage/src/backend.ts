/**
 * What a scheme must supply: the few calls that differ from store to store. Everything else (relative paths, whole and
 * parallel reads, uploads in parts, globs, moves, trees) is built on these for all of them. Keys are whole and exact,
 * never relative. Every call rejects with a StorageError, or with the reason of its signal.
 */
import type { RetryPolicy } from "./concurrency/retry.ts";

/** What a listing or a look at one object tells. A backend puts the whole key into `path`; the storage shortens it. */
export interface Entry {
  path: string;
  size: number;
  /** Without quotes; empty where the store has none. */
  etag: string;
  /** Empty where the store keeps no versions. */
  version: string;
  is_latest: boolean;
  last_modified: Date | null;
  /** The path of a directory ends with a slash: it is the prefix of what lies in it. */
  type: "file" | "directory";
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListCall extends CallOptions {
  /** Without it, everything below the prefix; with it, one level, and what lies deeper as directories. */
  readonly delimiter?: string | undefined;
  /** Only keys that sort after this one. */
  readonly startAfter?: string | undefined;
  /** All versions instead of the latest. */
  readonly versions?: boolean | undefined;
  /** In the order of the keys' bytes. Without it a backend may list several ranges at once. */
  readonly ordered?: boolean | undefined;
  /** How many requests may run at once. */
  readonly concurrency?: number | undefined;
  /** The store is asked, whatever is kept of earlier listings. */
  readonly refresh?: boolean | undefined;
  /** False: links to folders are left out, where there are links. */
  readonly followLinks?: boolean | undefined;
}

export interface VersionCall extends CallOptions {
  readonly version?: string | undefined;
}

export interface CopyCall extends VersionCall {
  /** Where the object lies, and what it is there, if that is another bucket: only with `copiesBetweenBuckets`. */
  readonly source?: { readonly bucket: string; readonly entry: Entry } | undefined;
}

export interface ReadCall extends VersionCall {
  /** First byte; 0 when absent. */
  readonly start?: number | undefined;
  /** The byte after the last; the end of the object when absent, or when the object ends before. */
  readonly end?: number | undefined;
  readonly ifMatch?: string | undefined;
}

/** An object, or part of one, on its way. Whoever gets it reads the body to its end, or ends the iteration. */
export interface Content {
  readonly entry: Entry;
  /** Which bytes the body has: not always the ones that were asked for, where a server ignores ranges. */
  readonly start: number;
  readonly end: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** The body at once, where the backend has something faster than iterating. */
  bytes?(): Promise<Uint8Array>;
  /** Puts the next bytes into a buffer: fewer than it holds when the body has ended, or broke off, as the next call says. */
  fill?: ((buffer: Uint8Array) => Promise<number>) | undefined;
  /** Gives up what has not been read, where ending the iteration is not enough. */
  close?(): void;
}

export interface WriteCall extends CallOptions {
  readonly contentType?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Only over the object with this ETag. */
  readonly ifMatch?: string | undefined;
  /** Only where there is no object yet. */
  readonly ifNoneMatch?: "*" | undefined;
  /** How long it will be, where that is known. */
  readonly size?: number | undefined;
}

/** An object that is written in parts. Nothing of it can be seen until `finish`; `abort` leaves nothing behind. */
export interface Upload {
  /**
   * Parts are numbered from 1; they come in any order and several at once, unless `transfer` says otherwise. The caller
   * uses the bytes' buffer again when this has resolved: what is still needed then must be a copy.
   */
  put(part: number, bytes: Uint8Array): Promise<void>;
  finish(): Promise<Entry>;
  abort(): Promise<void>;
}

/** How big objects are moved, from the configuration. */
export interface Transfer {
  /** Bytes of one part, and of one range. */
  readonly partSize: number;
  /** What the store demands of all parts but the last. */
  readonly minimumPart: number;
  readonly maximumParts: number;
  /** Objects up to this size are written at once. */
  readonly wholeUpTo: number;
  /** Parts or ranges of one object that move at the same time. */
  readonly concurrency: number;
  /** Parts must be written one after the other, whatever a caller wishes. */
  readonly partsInOrder?: true;
  /** How a body that broke off is taken up again. */
  readonly retry: RetryPolicy;
}

export interface BatchCall extends CallOptions {
  /** What the changes are for, where the store keeps such words. */
  readonly message?: string | undefined;
}

/** Changes that become visible together. */
export interface Batch {
  /** Its writes and removals are kept; its reads see what was there before. */
  readonly backend: Backend;
  finish(): Promise<void>;
}

export interface PresignCall extends VersionCall {
  readonly method: "GET" | "PUT";
  /** Seconds. */
  readonly expiresIn: number;
}

export interface Backend {
  readonly transfer: Transfer;
  /** Pages of entries; directories only with a delimiter. An unknown prefix has no entries: it is no error. */
  list(prefix: string, call: ListCall): AsyncIterable<Entry[]>;
  stat(key: string, call: VersionCall): Promise<Entry>;
  read(key: string, call: ReadCall): Promise<Content>;
  /** Writes at once. */
  put(key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry>;
  /** Begins a write in parts. */
  upload(key: string, call: WriteCall): Promise<Upload>;
  /** Where an object lies, or would, if it is a file of this machine: then it is copied without a stream. */
  localPath?(key: string): string;
  copy?(from: string, to: string, call: CopyCall): Promise<void>;
  /** The store copies from its other buckets, too, for whoever may read there. */
  readonly copiesBetweenBuckets?: true;
  /** A move that is one step of the store; elsewhere it is a copy and a removal. */
  move?(from: string, to: string, call: CallOptions): Promise<void>;
  /** Removing what is not there succeeds: a removal may have been tried before. */
  remove(key: string, call: VersionCall): Promise<void>;
  /** Many at once, at most `removeAtOnce`, where the store has such a call. */
  removeMany?(keys: readonly string[], call: CallOptions): Promise<void>;
  readonly removeAtOnce?: number;
  /** A folder with all it holds, where folders exist on their own. */
  removeTree?(key: string, call: CallOptions): Promise<void>;
  /** Where the store can make many changes as one. A batch that is not finished changes nothing. */
  batch?(call: BatchCall): Batch;
  presign?(key: string, call: PresignCall): Promise<string>;
  /** Makes the opened bucket or container, where the store has such things. */
  createBucket?(call: CallOptions): Promise<void>;
  close(): Promise<void>;
}
