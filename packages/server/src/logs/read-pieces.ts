/** Reads pieces of a log from an offset on, a bounded amount at a time. */
import type { LogPiece } from "@millrace/contract";
import { cutPieces, pieceLimit, toPieces } from "./pieces.ts";

/** One whole piece, whatever it is; larger batches made the follower's garbage outlive its moment. */
const chunk = pieceLimit + 4;

/** Structurally what a log offers. */
export interface ByteSource {
  /** Fewer bytes than asked for: the end, for now. */
  read(offset: number, length: number): Promise<Buffer>;
}

export interface PieceBatch {
  readonly pieces: LogPiece[];
  readonly next: number;
  /** Nothing is left, and nothing will come. */
  readonly finished: boolean;
}

/** Limits of one batch. */
export interface BatchSize {
  /** Unlimited by default. */
  readonly maxPieces?: number;
  /** Bytes to read; only the default or more is certain to hold a whole piece. */
  readonly length?: number;
}

/**
 * `ended` must have been true before the call: what was written until then is then all there is. Only a `length` of at
 * least the default surely holds a piece.
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
 * As many as surely fit a frame of 1 MiB as JSON: clients drop a larger one. A byte takes at most six (a control
 * character); the rest is the wrapping of a piece.
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
