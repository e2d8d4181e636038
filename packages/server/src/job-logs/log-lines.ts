/** Reads and searches the lines of a job's log. Every call ends after about a second and says how far it came. */
import { ApiError, type LogHits, type LogLine, type LogLines, type logSearchKinds } from "@millrace/contract";
import type { Part } from "../logs/joined-log.ts";
import { LineReader, lastLines, type RawLine } from "../logs/line-reader.ts";
import { type Matcher, searchLines } from "../logs/line-search.ts";
import { lineText } from "../logs/line-text.ts";
import { LinearPattern, PatternTooLarge } from "../logs/linear-pattern.ts";
import { nextLook, nextPart } from "../turns/large-answers.ts";
import type { KeptIndex } from "./log-indexes.ts";

/** The log of a job, or of one of its attempts. */
export interface OpenedLog {
  readonly log: Part;
  readonly ended: boolean;
  readonly index: KeptIndex;
  /** Masks secrets in a text. A secret with an escape sequence inside appears only when the sequence is removed. */
  readonly mask: (text: string) => string;
}

const workMs = 1000;
/** Milliseconds for which the first answer about a log waits for its lines to be counted. */
const firstMs = 20;
/** Maximum number of bytes of text in an answer. */
const answerBytes = 512 * 1024;
const hitLength = 500;

const within = (milliseconds: number) => {
  const end = performance.now() + milliseconds;
  return () => performance.now() > end;
};

/**
 * Reads lines from number `from` on, or the last lines. The last lines of a log are answered at once, even if nobody
 * has counted the lines before them yet.
 */
export async function readLogLines(opened: OpenedLog, from: number | undefined, limit: number): Promise<LogLines> {
  const { log, index } = opened;
  const isAtEnd = await index.extend(log, within(from === undefined ? firstMs : workMs));
  if (isAtEnd) {
    const first = from ?? Math.max(1, index.lines.lines - limit + 1);
    return answer(opened, isAtEnd, first, await linesFrom(opened, first - 1, limit));
  }
  if (from !== undefined && from + limit <= index.lines.lines)
    return answer(opened, isAtEnd, from, await linesFrom(opened, from - 1, limit));
  await nextPart();
  const last = from === undefined ? await lastLines(log, await log.size(), limit) : undefined;
  return answer(opened, isAtEnd, null, last ?? []);
}

async function answer(
  { log, ended, index }: OpenedLog,
  isAtEnd: boolean,
  first: number | null,
  lines: readonly RawLine[],
): Promise<LogLines> {
  const { counted, lines: total } = index.lines;
  const size = Math.max(counted, await log.size());
  const texts = lines.map(({ offset, bytes }): LogLine => ({ offset, text: lineText(bytes) }));
  return {
    first,
    lines: texts,
    total: isAtEnd ? total : null,
    size,
    counted,
    complete: ended && counted === size,
  };
}

async function linesFrom({ log, index }: OpenedLog, from: number, limit: number): Promise<RawLine[]> {
  const found: RawLine[] = [];
  if (limit === 0) return found;
  const reader = new LineReader(log, index.lines.near(from));
  let bytes = 0;
  for (;;) {
    await nextPart();
    const batch = await reader.next();
    for (const [at, line] of batch.lines.entries()) {
      if (batch.first + at < from) continue;
      // The log may have grown since its lines were counted.
      if (found.length >= limit || bytes > answerBytes || line.offset >= index.lines.counted) return found;
      found.push(line);
      bytes += line.bytes.length;
    }
    if (batch.atEnd) return found;
  }
}

export interface LogQuestion {
  readonly kind: (typeof logSearchKinds)[number];
  readonly text: string | undefined;
  readonly matchCase: boolean;
  readonly from: number;
  readonly limit: number;
}

export async function searchLogLines({ log, index, mask }: OpenedLog, question: LogQuestion): Promise<LogHits> {
  const matcher = matcherOf(question);
  const isOver = within(workMs);
  const from = question.from - 1;
  // Lines that are not counted yet are counted first, so that the search can begin near its first line.
  const isAtEnd = await index.extend(log, () => isOver() || index.lines.lines > from);
  if (index.lines.lines <= from) return { hits: [], next: isAtEnd ? null : question.from };
  const mayGoOn = async () => {
    await nextLook();
    return !isOver();
  };
  const place = index.lines.near(from);
  const { hits, next } = await searchLines(
    log,
    { from, place, matcher, mask },
    { hits: question.limit, mayGoOn },
  ).catch(tooExpensive);
  return {
    hits: hits.map(({ line, offset, text }) => ({ line: line + 1, offset, text: text.slice(0, hitLength) })),
    next: next === undefined ? null : next + 1,
  };
}

/** What a line that reports an error looks like. Words within words, such as `no-errors`, do not count. */
const errorPattern =
  "^Traceback |^\\w*(\\.\\w+)*(Error|Exception)(:|$)|(^|[^\\w-])(error|fatal|panic|critical|exception|failed|failure|segmentation fault)(:|!|\\]|\\)|$)|\\b(ERROR|FATAL|CRITICAL|PANIC)\\b|command not found|no such file or directory|permission denied";

function matcherOf({ kind, text, matchCase }: LogQuestion): Matcher {
  if (kind === "errors") return new LinearPattern(errorPattern, { ignoreCase: false });
  if (text === undefined) throw new ApiError("invalid", "text: expected the text to find");
  if (kind === "regex") return patternOf(text, !matchCase);
  return matchCase ? new Literal(text, (line) => line) : new Literal(text.toLowerCase(), (line) => line.toLowerCase());
}

function patternOf(text: string, ignoreCase: boolean): Matcher {
  try {
    return new LinearPattern(text, { ignoreCase });
  } catch (error) {
    if (error instanceof PatternTooLarge)
      throw new ApiError("invalid", "text: the regular expression is too large. Use fewer or smaller repetitions.");
    if (error instanceof SyntaxError)
      throw new ApiError("invalid", `text: not a valid regular expression: ${error.message}`);
    throw error;
  }
}

function tooExpensive(error: unknown): never {
  if (!(error instanceof PatternTooLarge)) throw error;
  throw new ApiError("invalid", "text: the regular expression takes too long for the lines of this log. Simplify it.");
}

class Literal implements Matcher {
  work = 0;
  readonly #text: string;
  readonly #cased: (line: string) => string;

  constructor(text: string, cased: (line: string) => string) {
    this.#text = text;
    this.#cased = cased;
  }

  test(text: string): boolean {
    this.work += 50 + text.length;
    return this.#cased(text).includes(this.#text);
  }
}
