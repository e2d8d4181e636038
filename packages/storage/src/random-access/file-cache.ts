/** The cache of an opened file: it turns reads of any size into ranges that are requested from the store. */

/** Requests the bytes from `start` up to, but not including, `end`. */
export type FetchRange = (start: number, end: number) => Promise<Uint8Array>;

export interface FileCache {
  /** Reads a range. `start` and `end` must lie within the file, and `start` before `end`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /**
   * Set if several reads may run at once. In all other caches, reads run one after the other, because each read changes
   * the cache.
   */
  readonly sharesReads?: true;
  close?(): Promise<void>;
}

export interface CacheOptions {
  /** Maximum number of blocks that `blockcache` and `background` keep; 32 by default. */
  readonly maxblocks?: number;
  /** Whether `bytes` drops bytes that lie more than a block before the last read; true by default. */
  readonly trim?: boolean;
  /** The bytes that `parts` knows, by offset. */
  readonly data?: ReadonlyMap<number, Uint8Array>;
  /**
   * Whether `parts` refuses a read that begins in a known part and ends outside it. If false, the missing bytes are
   * zeros.
   */
  readonly strict?: boolean;
}

/** The input of every cache. */
export interface CacheSetup {
  readonly fetch: FetchRange;
  readonly size: number;
  readonly blockSize: number;
  readonly options: CacheOptions;
}

/** Concatenates pieces. */
export const join = (...pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
