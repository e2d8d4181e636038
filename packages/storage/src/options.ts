/** What callers may say of a call, and the bytes that they give and get. */
import type { CallOptions, PresignCall, ReadCall, VersionCall, WriteCall } from "./backend.ts";

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
