/** Reads the live stream: server-sent events whose data are notices. */
import type { Notice } from "./live.ts";

/** Maximum number of characters of one event. A longer one ends the stream with an error. */
const mostCharacters = 1_000_000;

/**
 * Yields the notices of the stream in order, and undefined for each sign of life in between. Returns when the stream
 * ends. Keeps no more of the stream in memory than one event.
 */
export async function* readNotices(stream: ReadableStream<Uint8Array>): AsyncGenerator<Notice | undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of chunksOf(stream)) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    if (rest.length > mostCharacters) throw new Error("an event of the live stream is too long");
    for (const event of events) yield noticeIn(event);
  }
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function noticeIn(event: string): Notice | undefined {
  const lines = event.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : []));
  return lines.length > 0 ? (JSON.parse(lines.join("\n")) as Notice) : undefined;
}
