/** HTTP ranges: writes the request header, and works out what the answer holds. */
import type { ByteRange, Content, Entry, ReadCall } from "../backend.ts";
import type { HttpAnswer } from "./messages.ts";

/**
 * Returns the Range header, or no header for a whole object. HTTP cannot request an empty range, so one byte is
 * requested instead, and dropped.
 */
export function rangeHeader({ start = 0, end }: ReadCall): Record<string, string> {
  if (start === 0 && end === undefined) return {};
  if (end === undefined || !Number.isFinite(end)) return start === 0 ? {} : { range: `bytes=${start}-` };
  return { range: `bytes=${start}-${Math.max(start, end - 1)}` };
}

/**
 * Returns the requested range of an answer. If the server ignores the range and sends everything, drops the bytes
 * outside the range.
 */
export function contentOf(answer: HttpAnswer, entry: Entry, call: ReadCall): Content {
  const { start = 0, end = Number.POSITIVE_INFINITY } = call;
  const sent = sentRange(answer);
  if (sent.start === start && sent.end <= end) return new WholeContent(answer, entry, sent);
  const wanted = { start: Math.min(start, sent.end), end: Math.min(end, sent.end) };
  const body = cut(answer.body, wanted.start - sent.start, wanted.end - sent.start);
  return { entry, ...wanted, body, close: () => answer.close?.() };
}

function sentRange(answer: HttpAnswer): ByteRange {
  const text = answer.header("content-range");
  const [, first, last] = (text && /^bytes (\d+)-(\d+)/.exec(text)) || [];
  return first === undefined ? { start: 0, end: lengthOf(answer) } : { start: Number(first), end: Number(last) + 1 };
}

/** The whole body of an answer. Used if the server sent no bytes outside the requested range, so none are dropped. */
class WholeContent implements Content {
  readonly entry: Entry;
  readonly start: number;
  readonly end: number;
  readonly #answer: HttpAnswer;

  constructor(answer: HttpAnswer, entry: Entry, { start, end }: ByteRange) {
    this.entry = entry;
    this.start = start;
    this.end = end;
    this.#answer = answer;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#answer.body;
  }

  get fill(): Content["fill"] {
    return this.#answer.fill;
  }

  bytes(): Promise<Uint8Array> {
    return this.#answer.bytes(this.end - this.start);
  }

  close(): void {
    this.#answer.close?.();
  }
}

function lengthOf(answer: HttpAnswer): number {
  const length = answer.header("content-length");
  return length === undefined ? Number.POSITIVE_INFINITY : Number(length);
}

async function* cut(body: AsyncIterable<Uint8Array>, start: number, end: number): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const piece of body) {
    const wanted = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += piece.length;
    if (wanted.length > 0) yield wanted;
    if (at >= end) return;
  }
}

/** Returns the empty content of a range that lies beyond the end of an object. */
export function emptyContent(entry: Entry, { start = 0 }: ReadCall): Content {
  const at = Math.min(start, entry.size);
  return { entry, start: at, end: at, body: noPieces(), bytes: async () => new Uint8Array() };
}

async function* noPieces(): AsyncGenerator<Uint8Array> {}
