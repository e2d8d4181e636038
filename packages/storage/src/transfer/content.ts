/** Converts content to write into bytes or a stream of bytes, and cuts it into parts. */
import { Readable } from "node:stream";
import { abortable } from "../concurrency/abortable.ts";
import { iteratorOf } from "../concurrency/iterator-of.ts";
import { StorageError } from "../errors.ts";
import type { WriteContent } from "../options.ts";

const encoder = new TextEncoder();

/** Returns bytes or text as bytes, and undefined for any other value. */
function bytesOf(piece: unknown): Uint8Array | undefined {
  if (typeof piece === "string") return encoder.encode(piece);
  if (piece instanceof Uint8Array) return piece;
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  return piece instanceof ArrayBuffer || piece instanceof SharedArrayBuffer ? new Uint8Array(piece) : undefined;
}

/**
 * Returns a piece of content as bytes. Throws if the piece is neither bytes nor text, because it would be written as if
 * it were empty.
 */
function toBytes(piece: unknown): Uint8Array {
  const bytes = bytesOf(piece);
  if (bytes) return bytes;
  throw new StorageError("invalid", `expected every piece of the content as bytes or text, got ${nameOf(piece)}`);
}

const nameOf = (value: unknown) => (typeof value === "object" ? (value?.constructor?.name ?? "null") : typeof value);

/** Returns the content as bytes if it is in memory as a whole, otherwise undefined. */
export const wholeContent = (content: WriteContent): Uint8Array | undefined => bytesOf(content);

/** Yields the pieces of a stream. The signal ends the wait for the next piece, even if the source hangs. */
async function* piecesOf(content: WriteContent, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const stream = content instanceof Blob ? content.stream() : content;
  if (!isIterable(stream)) {
    throw new StorageError(
      "invalid",
      `expected the content as bytes, text, or a stream of bytes or text, got ${nameOf(stream)}`,
    );
  }
  const source = iteratorOf(stream);
  let hasEnded = false;
  try {
    for (;;) {
      const next = await abortable(source.next(), signal);
      hasEnded = next.done === true;
      if (next.done) return;
      yield toBytes(next.value);
    }
  } finally {
    if (!hasEnded) leave(stream, source);
  }
}

/**
 * Ends the source without waiting for it, because a source that hangs would block the caller. A Node stream must be
 * destroyed to end a pending read.
 */
function leave(stream: unknown, source: AsyncIterator<unknown>): void {
  source.return?.().catch(() => {});
  if (stream instanceof Readable) stream.destroy();
}

const isIterable = (stream: unknown): stream is AsyncIterable<unknown> | Iterable<unknown> =>
  typeof stream === "object" && stream !== null && (Symbol.asyncIterator in stream || Symbol.iterator in stream);

/**
 * Yields the content in parts; `sizeOf` returns the size of a part by its number. The last part may be shorter. There
 * is at least one part, even if it is empty. Each part of a stream is a new buffer, so the source may reuse its own
 * buffers.
 */
export async function* partsOf(
  content: WriteContent,
  sizeOf: (part: number) => number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const whole = wholeContent(content);
  if (whole) yield* partsOfBytes(whole, sizeOf);
  else yield* partsOfStream(piecesOf(content, signal), sizeOf);
}

function* partsOfBytes(bytes: Uint8Array, sizeOf: (part: number) => number): Generator<Uint8Array> {
  let start = 0;
  for (let part = 1; start < bytes.length || part === 1; part += 1) {
    yield bytes.subarray(start, start + sizeOf(part));
    start += sizeOf(part);
  }
}

async function* partsOfStream(
  stream: AsyncIterable<Uint8Array>,
  sizeOf: (part: number) => number,
): AsyncGenerator<Uint8Array> {
  let part = 1;
  let filled = 0;
  let buffer = Buffer.allocUnsafeSlow(sizeOf(part));
  for await (const piece of stream) {
    let rest = piece;
    while (rest.length > 0) {
      const taken = rest.subarray(0, buffer.length - filled);
      buffer.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
      if (filled < buffer.length) continue;
      yield buffer;
      part += 1;
      filled = 0;
      buffer = Buffer.allocUnsafeSlow(sizeOf(part));
    }
  }
  if (filled > 0 || part === 1) yield buffer.subarray(0, filled);
}
