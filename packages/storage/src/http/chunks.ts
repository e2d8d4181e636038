/** Decodes a chunked body once its last chunk has arrived. */

const chunkSize = /^([0-9a-f]{1,8})[ \t]*(;.*)?$/i;

/** Returns the content of all chunks, or undefined if the last chunk has not arrived yet. */
export function joinChunks(text: string): string | undefined {
  const parts: string[] = [];
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const [, digits] = chunkSize.exec(text.slice(at, lineEnd)) ?? [];
    if (digits === undefined)
      throw new Error("the answer has the header Transfer-Encoding: chunked, but its body is not chunked");
    const start = lineEnd + 2;
    const end = start + Number.parseInt(digits, 16);
    if (end === start) return isEnd(text, start) ? parts.join("") : undefined;
    if (text.length < end + 2) return undefined;
    parts.push(text.slice(start, end));
    at = end + 2;
  }
}

/**
 * Tells whether the end of the body has arrived. The end follows the last chunk, at the offset `at`. It consists of
 * trailers, which are ignored, and an empty line. Throws if more bytes follow.
 */
function isEnd(text: string, at: number): boolean {
  const end = text.startsWith("\r\n", at) ? at : text.indexOf("\r\n\r\n", at) + 2;
  if (end < at) return false;
  if (text.length > end + 2) throw new Error("the server sent more bytes after the end of the answer");
  return true;
}
