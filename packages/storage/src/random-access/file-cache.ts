/** What a cache of an opened file is: it stands between reads, of whatever size, and the ranges asked of the store. */

/** Asks the store for the bytes from `start` to `end`, which is not part of it. */
export type FetchRange = (start: number, end: number) => Promise<Uint8Array>;

export interface FileCache {
  /** `start` and `end` lie within the file, and `start` before `end`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Several reads may run at once; elsewhere one waits for the other, since each changes what is kept. */
  readonly sharesReads?: true;
  close?(): Promise<void>;
}

export interface CacheOptions {
  /** Blocks that `blockcache` and `background` keep; 32 when absent. */
  readonly maxblocks?: number;
  /** Whether `bytes` drops what lies more than a block behind; true when absent. */
  readonly trim?: boolean;
  /** What `parts` knows already: bytes by where they begin. */
  readonly data?: ReadonlyMap<number, Uint8Array>;
  /** Whether `parts` refuses a read that begins in a known part and leaves it, instead of filling up with zeros. */
  readonly strict?: boolean;
}

/** What every cache is made of. */
export interface CacheSetup {
  readonly fetch: FetchRange;
  readonly size: number;
  readonly blockSize: number;
  readonly options: CacheOptions;
}

/** Pieces in a row as one. */
export const join = (...pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
