/** Reads pieces of a log from an offset, a limited amount at a time. */
import type { LogPiece } from "@millrace/contract";
import { cutPieces, pieceLimit, toPieces } from "./pieces.ts";

/**
 * Number of bytes to read at once: enough for one whole piece of any kind. Larger reads would cost followers more time
 * for garbage collection.
 */
const chunk = pieceLimit + 4;

/** Interface of a log, declared here to avoid the import. */
export interface ByteSource {
  /** Returns fewer bytes than `length` only at the current end. */
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
  /** Largest number of pieces; unlimited by default. */
  readonly maxPieces?: number;
  /** Number of bytes to read; by default enough for one whole piece. A shorter read may contain no whole piece. */
  readonly length?: number;
}

/**
 * Reads a batch of pieces. `ended` tells whether the log was complete before this call: a log that ends during the
 * read may have got bytes that the read missed, so pass false for it.
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
 * Returns the ends of as many pieces as certainly fit in a JSON frame of 1 MiB, because clients drop larger frames. A
 * byte takes at most six bytes in JSON (a control character), and each piece takes 48 more for the object around it.
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
