/** Reads pieces of a log from an offset, in batches of limited size. */
import type { LogPiece } from "@millrace/contract";
import { cutPieces, pieceLimit, toPieces } from "./pieces.ts";

/**
 * Default number of bytes to read at once: enough for one piece of maximum length. Larger reads would cost more time
 * for garbage collection.
 */
const chunk = pieceLimit + 4;

/** Interface of a log, declared here to avoid the import. */
export interface ByteSource {
  /** Reads bytes from an offset. Returns fewer than `length` bytes only at the current end of the log. */
  read(offset: number, length: number): Promise<Buffer>;
}

export interface PieceBatch {
  readonly pieces: LogPiece[];
  readonly next: number;
  /** Whether the log is complete and everything was read. */
  readonly finished: boolean;
}

/** Limits of one batch. */
interface BatchSize {
  /** Maximum number of pieces; unlimited by default. */
  readonly maxPieces?: number;
  /** Number of bytes to read. The default is enough for one whole piece; a shorter read may contain no whole piece. */
  readonly length?: number;
}

/**
 * Reads a batch of pieces. Set `ended` only if the log was already complete before this call. Otherwise an unfinished
 * last piece may be returned as if it were whole.
 */
export async function readPieces(
  source: ByteSource,
  offset: number,
  ended: boolean,
  { maxPieces = Number.POSITIVE_INFINITY, length = chunk }: BatchSize = {},
): Promise<PieceBatch> {
  const bytes = await source.read(offset, length);
  const atEnd = bytes.length < length;
  const ends = limitJson(cutPieces(bytes, ended && atEnd)).slice(0, maxPieces);
  const taken = ends.at(-1) ?? 0;
  return {
    pieces: toPieces(bytes, offset, ends),
    next: offset + taken,
    finished: ended && atEnd && taken === bytes.length,
  };
}

/**
 * Returns the ends of the first pieces, as many as surely fit in a JSON frame of 1 MiB. Clients drop larger frames. The
 * estimate is six bytes of JSON for each byte, as for a control character, and 48 bytes for the object around each
 * piece.
 */
function limitJson(ends: readonly number[]): readonly number[] {
  let size = 0;
  let start = 0;
  for (const [index, end] of ends.entries()) {
    size += 48 + 6 * (end - start);
    if (size > 1_000_000) return ends.slice(0, index);
    start = end;
  }
  return ends;
}
