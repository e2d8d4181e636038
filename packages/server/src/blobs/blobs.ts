/**
 * Blobs are named files that the server keeps: uploads, exports and logs of ended attempts. They are in the data folder
 * or at a storage URI, and behave the same in both places. Readers see a blob completely or not at all.
 */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

export interface Measured {
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
}

export interface BlobEntry {
  readonly name: string;
  readonly size: number;
  /** Unix time in milliseconds, by the clock of the storage. */
  readonly modifiedAt: number;
}

/**
 * A blob that is open for reading. A read returns the content that the blob had when it was opened. If the blob has
 * been replaced or deleted since, and that content is gone, the read fails.
 */
export interface OpenBlob {
  readonly size: number;
  /** Returns up to `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  /** Streams the whole blob from its start, and closes it at the end. */
  stream(): Readable;
  close(): Promise<void>;
}

/** A cached copy of a blob on this machine. */
export interface Copy {
  /** File name of the copy. */
  readonly name: string;
  readonly size: number;
  /** Unix time of the last use in milliseconds. */
  readonly usedAt: number;
  /** Whether a job has a hard link to the copy. If so, deleting the copy frees no space. */
  readonly isLinked: boolean;
}

export interface FetchOptions {
  /** Time limit of the download in milliseconds; no limit if undefined. */
  readonly atMost?: number;
  /** Expected size in bytes. A download of another size fails. Not checked if undefined. */
  readonly size?: number;
}

export interface PutOptions {
  /** Maximum size in bytes; no limit if undefined. */
  readonly limit?: number;
  /** Who stores the content, such as a team. Owners take turns if many store something at the same time. */
  readonly owner?: unknown;
}

export interface Blobs {
  /** Whether the blobs are files in the data folder, on this machine. */
  readonly isLocal: boolean;
  /**
   * Stores the content, replacing any blob of this name. Throws BlobTooLong if the content is longer than `limit`
   * bytes. If reading the content fails, nothing is stored.
   */
  put(name: string, content: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<Measured>;
  /**
   * Calls `write` with the path of a local file, and stores the file that `write` creates there. Returns the file's
   * size in bytes.
   */
  make(name: string, write: (path: string) => Promise<void>): Promise<number>;
  /** Opens a blob for reading. Throws BlobMissing if it does not exist. */
  open(name: string): Promise<OpenBlob>;
  /** Returns the size in bytes; undefined if the blob does not exist. */
  size(name: string): Promise<number | undefined>;
  /** Deletes a blob. Does nothing if the blob does not exist. */
  remove(name: string): Promise<void>;
  /** Lists the blobs whose names start with `folder`, which ends with a slash. The order is undefined. */
  list(folder: string): AsyncIterable<BlobEntry>;
  /**
   * Returns the path of a read-only local file with the content of the blob. That is the blob itself or a cached copy.
   * Throws BlobMissing if the blob does not exist. Throws BlobsUnavailable if a download takes longer than `atMost`
   * milliseconds, or if it does not have `size` bytes.
   */
  fetch(name: string, options?: FetchOptions): Promise<string>;
  /**
   * Returns the path of the local file with the content of the blob, without a request to the storage. Returns
   * undefined if this machine has no such file; `fetch` can then download the blob.
   */
  copyOf(name: string): Promise<string | undefined>;
  /** Returns the cached copies; none if the blobs are files on this machine. */
  copies(): Promise<Copy[]>;
  /** Deletes a cached copy by its file name. Does nothing if the copy does not exist. */
  removeCopy(name: string): Promise<void>;
  /**
   * Deletes partial files of interrupted writes that are older than `leftBefore`, and cached copies that were last used
   * before `unusedSince`. Both are Unix times in milliseconds.
   */
  tidy(moments: { readonly leftBefore: number; readonly unusedSince: number }): Promise<void>;
  close(): Promise<void>;
}

export class BlobMissing extends Error {
  constructor(name: string) {
    super(`There is no blob ${name}.`);
  }
}

export class BlobTooLong extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super(`The content is longer than the limit of ${limit} bytes.`);
    this.limit = limit;
  }
}

/** Thrown if the storage cannot be reached or denies access. The blob may exist, and a retry may succeed. */
export class BlobsUnavailable extends Error {
  constructor(cause: Error) {
    super(`The blob storage (MILLRACE_BLOBS) cannot be used: ${cause.message}`, { cause });
  }
}

const part = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}";
const namePattern = new RegExp(`^[a-z]{1,20}(?:/${part}){1,3}$`);
const folderPattern = new RegExp(`^[a-z]{1,20}/(?:${part}/){0,2}$`);

/** File name extension of files that are still being written; no blob name ends with it. */
export const draftEnd = ".part";

/**
 * Returns the name if it is a valid blob name, and throws otherwise. Names come from database rows, and these may come
 * from a foreign backup. An invalid name could lead outside the folder.
 */
export function checkName(name: string): string {
  if (!namePattern.test(name) || name.endsWith(draftEnd))
    throw new Error(`${JSON.stringify(name)} is not a valid blob name.`);
  return name;
}

export function checkFolder(folder: string): string {
  if (!folderPattern.test(folder)) throw new Error(`${JSON.stringify(folder)} is not a valid blob folder.`);
  return folder;
}

/** Counts and hashes bytes as they pass through. */
export class Meter {
  readonly #content: AsyncIterable<Uint8Array>;
  readonly #limit: number;
  readonly #hash = createHash("sha256");
  #size = 0;
  /** The error that ended the content too early; undefined if there was none. */
  failure: unknown;

  constructor(content: AsyncIterable<Uint8Array>, limit = Number.POSITIVE_INFINITY) {
    this.#content = content;
    this.#limit = limit;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of this.#content) {
        this.#size += bytes.length;
        if (this.#size > this.#limit) throw new BlobTooLong(this.#limit);
        this.#hash.update(bytes);
        yield bytes;
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  measured(): Measured {
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }
}
