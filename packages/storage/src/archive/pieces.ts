/** Byte streams in archives: decompresses them while reading and cuts them to a range. */
import { pipeline, Readable, type Transform } from "node:stream";

/** Decompresses a stream. Only the decompressor's buffer is in memory, however large the output is. */
export async function* decompress(
  body: AsyncIterable<Uint8Array>,
  decompressor: Transform,
): AsyncGenerator<Uint8Array> {
  // An error of either stream ends the iteration.
  pipeline(Readable.from(body, { objectMode: false }), decompressor, () => {});
  yield* decompressor as AsyncIterable<Uint8Array>;
}

/** Yields the bytes from `start` up to, but not including, `end`, and stops reading there. */
export async function* cut(body: AsyncIterable<Uint8Array>, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0;
  if (start >= end) return;
  for await (const piece of body) {
    const wanted = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += piece.length;
    if (wanted.length > 0) yield wanted;
    if (at >= end) return;
  }
}
