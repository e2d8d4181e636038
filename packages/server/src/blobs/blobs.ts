/**
 * Blobs: files that the server keeps under a name, as uploads of jobs, files of exports and logs of ended attempts. They
 * lie in the data folder, or at a storage URI, and behave alike in both places. A blob is seen whole or not at all.
 */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

export interface Measured {
  readonly size: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

export interface BlobEntry {
  readonly name: string;
  readonly size: number;
  /** In milliseconds, by the clock of the place where it lies. */
  readonly modifiedAt: number;
}

/** A blob that somebody reads: what was opened, even if it is replaced or removed meanwhile, or an error. */
export interface OpenBlob {
  readonly size: number;
  /** Up to `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  /** All of it, from its beginning; closes it at the end. */
  stream(): Readable;
  close(): Promise<void>;
}

export interface Blobs {
  /** Whether they lie on this machine, below the data folder. */
  readonly isLocal: boolean;
  /**
   * Stores what `content` yields, in place of what had this name. Nothing is stored when `content` fails, or is longer
   * than `limit` bytes: then it throws BlobTooLong.
   */
  put(name: string, content: AsyncIterable<Uint8Array>, options?: { readonly limit?: number }): Promise<Measured>;
  /** Stores what `write` puts into a file of this machine. Returns the bytes that it takes. */
  make(name: string, write: (path: string) => Promise<void>): Promise<number>;
  /** Throws BlobMissing. */
  open(name: string): Promise<OpenBlob>;
  /** Undefined: there is no such blob. */
  size(name: string): Promise<number | undefined>;
  /** Removing a blob that is not there succeeds. */
  remove(name: string): Promise<void>;
  /** Those whose names begin with `folder`, which ends with a slash; in any order. */
  list(folder: string): AsyncIterable<BlobEntry>;
  /** A file of this machine with the content, for reading only: the blob itself, or a copy. Throws BlobMissing. */
  fetch(name: string): Promise<string>;
  /**
   * Removes what writes that were cut short left behind before a moment, and copies that nobody has asked for since
   * another moment.
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
    super(`It is longer than ${limit} bytes.`);
    this.limit = limit;
  }
}

/** The storage cannot be reached, or refuses the server: this says nothing about the blob, and passes. */
export class BlobsUnavailable extends Error {
  constructor(cause: Error) {
    super(`The storage of files (MILLRACE_BLOBS) cannot be used: ${cause.message}`, { cause });
  }
}

const part = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}";
const namePattern = new RegExp(`^[a-z]{1,20}(?:/${part}){1,3}$`);
const folderPattern = new RegExp(`^[a-z]{1,20}/(?:${part}/){0,2}$`);

/** The end of the names of files that are being written. No blob has such a name. */
export const draftEnd = ".part";

/** Throws for a name that could lead anywhere else: some names come from rows, and those may come from a backup. */
export function checkName(name: string): string {
  if (!namePattern.test(name) || name.endsWith(draftEnd))
    throw new Error(`${JSON.stringify(name)} cannot name a blob.`);
  return name;
}

export function checkFolder(folder: string): string {
  if (!folderPattern.test(folder)) throw new Error(`${JSON.stringify(folder)} cannot be a folder of blobs.`);
  return folder;
}

/** Counts and digests bytes on their way. */
export class Meter {
  readonly #content: AsyncIterable<Uint8Array>;
  readonly #limit: number;
  readonly #hash = createHash("sha256");
  #size = 0;
  /** Why the content ended early; undefined: it did not. */
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
