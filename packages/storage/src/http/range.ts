/** HTTP ranges: writes the request header, and works out what the answer holds. */
import type { ByteRange, Content, Entry, ReadCall } from "../backend.ts";
import { StorageError } from "../errors.ts";
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
 * Returns the requested range of an answer, or the part of it that the server sends. If the server ignores the range
 * and sends everything, drops the bytes outside the range. Throws if the answer does not tell where its bytes belong.
 */
export function contentOf(answer: HttpAnswer, told: Entry, call: ReadCall): Content {
  const { start = 0, end = Number.POSITIVE_INFINITY } = call;
  const sent = sentRange(answer);
  if (!sent || sent.start > start) {
    answer.discard().catch(() => {});
    throw misplaced(answer, told.path, start);
  }
  const entry = sent.isSizeKnown || told.size > 0 ? told : { ...told, size: Number.POSITIVE_INFINITY };
  if (sent.start === start && sent.end <= end) return new WholeContent(answer, entry, sent);
  const wanted = { start: Math.min(start, sent.end), end: Math.min(end, sent.end) };
  const body = cut(answer.body, wanted.start - sent.start, wanted.end - sent.start);
  return { entry, ...wanted, body, close: () => answer.close?.() };
}

interface SentRange extends ByteRange {
  /** False if the server does not tell the size of the object. */
  readonly isSizeKnown: boolean;
}

/** Returns what the body of an answer holds; undefined if the answer is a range but does not tell which one. */
function sentRange(answer: HttpAnswer): SentRange | undefined {
  const text = answer.header("content-range") ?? "";
  const [, first, last, size] = /^bytes (\d+)-(\d+)(?:\/(\d+|\*))?\s*$/.exec(text) ?? [];
  // A part without bytes, as some servers send at the end of an object, ends before it begins.
  if (first !== undefined && Number(last) >= Number(first) - 1)
    return { start: Number(first), end: Number(last) + 1, isSizeKnown: size !== undefined && size !== "*" };
  const end = lengthOf(answer);
  return answer.status === 206 ? undefined : { start: 0, end, isSizeKnown: Number.isFinite(end) };
}

/** Bytes at the wrong place would be wrong data without an error, so such an answer is refused. */
function misplaced(answer: HttpAnswer, key: string, start: number): StorageError {
  const told = answer.header("content-range");
  const what = told === undefined ? "no Content-Range" : `the Content-Range '${told.slice(0, 100)}'`;
  return new StorageError(
    "failed",
    `${key}: the server was asked for the bytes from ${start} on and sent a part with ${what}, so nothing was read; check the server or the proxy before it`,
    { key },
  );
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
