/**
 * Cuts a log into pieces. The result depends only on the bytes of the log. A piece ends after LF, after a CR without
 * LF, or after 64 KiB at a UTF-8 boundary. An unfinished last piece is returned only when the job has ended. So a
 * reader needs only an offset to follow, resume or repeat a log.
 */
import type { LogPiece } from "@millrace/contract";

export const pieceLimit = 64 * 1024;
const lf = 10;
const cr = 13;

/**
 * Returns the end of each piece, as an index in `bytes`. `bytes` must begin at the start of a piece. `ended` tells
 * whether the log is complete.
 */
export function cutPieces(bytes: Buffer, ended: boolean): number[] {
  const ends: number[] = [];
  let start = 0;
  let nextLf = -2;
  let nextCr = -2;
  while (start < bytes.length) {
    // An index of -1 means that no such byte follows. Each index is searched again only after it was passed; otherwise
    // a log without CR would be scanned to its end for every line.
    if (nextLf !== -1 && nextLf < start) nextLf = bytes.indexOf(lf, start);
    if (nextCr !== -1 && nextCr < start) nextCr = bytes.indexOf(cr, start);
    const end = pieceEnd(bytes, start, { lf: nextLf, cr: nextCr, ended });
    if (end === undefined) break;
    ends.push(end);
    start = end;
  }
  return ends;
}

function pieceEnd(bytes: Buffer, start: number, next: { lf: number; cr: number; ended: boolean }): number | undefined {
  const window = start + pieceLimit;
  const terminated = terminatorEnd(bytes, next);
  if (terminated !== undefined && terminated <= window) return terminated;
  if (bytes.length >= window) return utf8Boundary(bytes, window);
  return next.ended ? bytes.length : undefined;
}

function terminatorEnd(bytes: Buffer, next: { lf: number; cr: number }): number | undefined {
  if (next.cr !== -1 && (next.lf === -1 || next.cr < next.lf)) {
    // The CR is the last byte so far, and an LF may still follow.
    if (next.cr + 1 === bytes.length) return undefined;
    return bytes[next.cr + 1] === lf ? next.cr + 2 : next.cr + 1;
  }
  return next.lf === -1 ? undefined : next.lf + 1;
}

/** Returns `end`, or up to three bytes less, so that no UTF-8 sequence is split. Reads no byte at or after `end`. */
function utf8Boundary(bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length =
      byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc0 && byte < 0xe0 ? 2 : 1;
    return length > back ? end - back : end;
  }
  return end;
}

/**
 * Converts bytes to pieces. `offset` is the offset of `bytes` in the log. The id of a piece is the offset of its first
 * byte, plus one. Invalid UTF-8 becomes U+FFFD.
 */
export function toPieces(bytes: Buffer, offset: number, ends: readonly number[]): LogPiece[] {
  let start = 0;
  return ends.map((end) => {
    const piece = { id: offset + start + 1, message: bytes.toString("utf8", start, end) };
    start = end;
    return piece;
  });
}
