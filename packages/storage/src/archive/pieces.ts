/** Streams of bytes in archives: decompressed as they are read, cut to a range. */
import { pipeline, Readable, type Transform } from "node:stream";

/** No more is in memory than a decompressor holds, however much would come out of it. */
export async function* decompress(
  body: AsyncIterable<Uint8Array>,
  decompressor: Transform,
): AsyncGenerator<Uint8Array> {
  // Failures of either end the iteration.
  pipeline(Readable.from(body, { objectMode: false }), decompressor, () => {});
  yield* decompressor as AsyncIterable<Uint8Array>;
}

/** The bytes from `start` up to `end`, which is not part of them. Stops reading there. */
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
