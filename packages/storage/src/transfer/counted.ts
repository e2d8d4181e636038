/** A stream that tells how much of it has passed. */

export async function* counted(
  stream: AsyncIterable<Uint8Array>,
  count: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    count?.(piece.length);
    yield piece;
  }
}
