/** What callers give to be written, as bytes or as a stream of them, and cut into parts. */
import type { WriteContent } from "./storage.ts";

const encoder = new TextEncoder();

const toBytes = (piece: Uint8Array | string) => (typeof piece === "string" ? encoder.encode(piece) : piece);

/** Bytes where they are all there already. */
export function wholeContent(content: WriteContent): Uint8Array | undefined {
  return typeof content === "string" || content instanceof Uint8Array ? toBytes(content) : undefined;
}

/**
 * Parts of the size that `sizeOf` names for each, the last one shorter; at least one, even if it is empty. Each part of
 * a stream is a buffer of its own, so that the source may use its buffers again.
 */
export async function* partsOf(content: WriteContent, sizeOf: (part: number) => number): AsyncGenerator<Uint8Array> {
  const whole = wholeContent(content);
  if (whole) yield* partsOfBytes(whole, sizeOf);
  else yield* partsOfStream(content as AsyncIterable<Uint8Array | string>, sizeOf);
}

function* partsOfBytes(bytes: Uint8Array, sizeOf: (part: number) => number): Generator<Uint8Array> {
  let start = 0;
  for (let part = 1; start < bytes.length || part === 1; part += 1) {
    yield bytes.subarray(start, start + sizeOf(part));
    start += sizeOf(part);
  }
}

async function* partsOfStream(
  stream: AsyncIterable<Uint8Array | string>,
  sizeOf: (part: number) => number,
): AsyncGenerator<Uint8Array> {
  let part = 1;
  let filled = 0;
  let buffer = Buffer.allocUnsafeSlow(sizeOf(part));
  for await (const piece of stream) {
    let rest = toBytes(piece);
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
