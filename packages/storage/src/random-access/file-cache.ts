/** The cache of an opened file: it turns reads of any size into ranges that are requested from the store. */

/** Requests the bytes from `start` up to, but not including, `end`. */
export type FetchRange = (start: number, end: number) => Promise<Uint8Array>;

export interface FileCache {
  /** Expects `start` and `end` within the file, and `start` before `end`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Several reads may run at once. Other caches read one after the other, because each read changes the cache. */
  readonly sharesReads?: true;
  close?(): Promise<void>;
}

export interface CacheOptions {
  /** Blocks that `blockcache` and `background` keep; 32 by default. */
  readonly maxblocks?: number;
  /** Whether `bytes` drops what lies more than a block behind; true by default. */
  readonly trim?: boolean;
  /** The bytes that `parts` knows, by offset. */
  readonly data?: ReadonlyMap<number, Uint8Array>;
  /** Whether `parts` refuses a read that begins in a known part and leaves it, instead of padding with zeros. */
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
