/** Finds lines of a log by their text, within a time limit. */

import type { LinePlace } from "./line-index.ts";
import { type LineBatch, LineReader } from "./line-reader.ts";
import { lineText, plainText } from "./line-text.ts";
import type { ByteSource } from "./read-pieces.ts";

export interface Matcher {
  /** Tells whether a text has a match. A text of several lines has one if any of its lines has. */
  test(text: string): boolean;
  /** Work of all tests so far, in steps of roughly a nanosecond each. */
  readonly work: number;
}

/** Masks secrets in a text. */
type Mask = (text: string) => string;

interface Hit {
  readonly line: number;
  readonly offset: number;
  readonly text: string;
}

interface SearchLimits {
  readonly hits: number;
  /** Called between stretches of work. Returns false if the time is over. */
  readonly mayGoOn: () => Promise<boolean>;
}

interface Found {
  readonly hits: Hit[];
  /** Number of the line at which to go on; undefined if the end of the log was reached. */
  readonly next: number | undefined;
}

/** Work between two calls of `mayGoOn`, in steps of roughly a nanosecond each. */
const stretch = 4_000_000;
/** Work of reading one line, and of masking it once more, in the same steps. */
const lineWork = 1000;
const maskWork = 10_000;
/** Maximum number of characters that are tested together. */
const longStretch = 32 * 1024;
/** Maximum number of characters of a hit that are kept. */
const hitLength = 4000;
const esc = 27;
const cr = 13;

/** Searches the lines from number `from` on, beginning to read at a place at or before it. */
export async function searchLines(
  source: ByteSource,
  { from, place, matcher, mask }: { from: number; place: LinePlace; matcher: Matcher; mask: Mask },
  limits: SearchLimits,
): Promise<Found> {
  const reader = new LineReader(source, place);
  const hits: Hit[] = [];
  for (;;) {
    const batch = await reader.next();
    const next = await searchBatch(batch, { from, matcher, mask, hits }, limits);
    if (next !== undefined) return { hits, next };
    if (batch.atEnd) return { hits, next: undefined };
    if (!(await limits.mayGoOn())) return { hits, next: batch.first + batch.lines.length };
  }
}

/** Searches a batch. Returns the number of the line at which to go on if the limits were reached. */
async function searchBatch(
  batch: LineBatch,
  { from, matcher, mask, hits }: { from: number; matcher: Matcher; mask: Mask; hits: Hit[] },
  limits: SearchLimits,
): Promise<number | undefined> {
  if (!mayHaveHits(batch, matcher)) return undefined;
  let done = matcher.work;
  let read = 0;
  for (const [index, { offset, bytes }] of batch.lines.entries()) {
    const line = batch.first + index;
    if (line < from) continue;
    if (hits.length >= limits.hits) return line;
    if (matcher.work - done + read > stretch) {
      if (!(await limits.mayGoOn())) return line;
      done = matcher.work;
      read = 0;
    }
    const shown = lineText(bytes);
    const plain = plainText(shown);
    const text = plain === shown ? plain : mask(plain);
    read += plain === shown ? lineWork : maskWork + plain.length * 20;
    if (matcher.test(text)) hits.push({ line, offset, text: text.slice(0, hitLength) });
  }
  return undefined;
}

/** Looks at a batch as a whole, which is much faster than line by line. */
function mayHaveHits({ lines }: LineBatch, matcher: Matcher): boolean {
  const [first] = lines;
  const last = lines.at(-1);
  if (!first || !last) return false;
  const before = matcher.work;
  const length = last.offset - first.offset + last.bytes.length;
  const bytes = Buffer.from(first.bytes.buffer, first.bytes.byteOffset, length);
  // A match may be hidden by an escape sequence, or be in a text that was overwritten.
  if (bytes.includes(esc) || bytes.includes(cr)) return true;
  const text = bytes.toString("utf8");
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start + 8192) + 1 || text.length;
    // Long lines are tested one by one.
    if (end - start > longStretch) return true;
    if (matcher.test(text.slice(start, end))) return true;
    // This pattern is expensive: look at each line, with pauses.
    if (matcher.work - before > stretch) return true;
    start = end;
  }
  return false;
}
