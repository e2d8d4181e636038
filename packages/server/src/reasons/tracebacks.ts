/**
 * Finds Python tracebacks in a log, even if the header follows other text on its line. At the beginning of a log that
 * was cut, the header may be missing.
 */
import { isSilent } from "./log-lines.ts";

/** A traceback in the lines of a log. */
export interface Traceback {
  /**
   * Index of the first line. If the exception has causes that are printed before it, this is the first line of the
   * first cause.
   */
  readonly start: number;
  /** Index of the line after the one that names the exception. */
  readonly end: number;
  /** The line that names the exception, and the following lines, which may belong to the exception's message. */
  readonly message: readonly string[];
  /**
   * Where the exception was raised: in the main thread, in another thread, or in a named worker process. `aside` means
   * that Python only reports the exception, which ends no process, for example one in a destructor.
   */
  readonly of: "main" | "thread" | "aside" | { readonly worker: string };
}

const header = "Traceback (most recent call last)";
const group = /^ {2}[+|] (?:Exception Group Traceback \(most recent call last\):$|\S.*\(\d+ sub-exceptions?\)$)/;
const link = /^(?:During handling of the above exception, another|The above exception was the direct cause of)/;
/** Matches the line of a syntax error in the script itself, which Python prints without a traceback header. */
const syntax = /^(?:SyntaxError|IndentationError|TabError): /;
const frame = /^ {2}File "/;
/** Matches the line that names an exception: `module.Name: message`, or only `module.Name`. */
const exception = /^[\p{L}_][\p{L}\p{N}_.<>]*(?::|$)/u;
/**
 * Matches a line inside a traceback: an indented line, a line with the box characters of `rich`, or one with loguru's
 * marker.
 */
const body = /^(?:\s|[│╭╰├|+]|> |$)/;
const boxed = /^[╭+][─-]+ Traceback \(most recent call last\) /;
/** Matches a line that begins another report of Python. Such a line does not belong to the message before it. */
const boundary = /^(?:Exception (?:ignored|in thread)|Process [\w.-]+:$|Task exception was never|""")/;
/** Maximum number of lines of an exception's message after its first line. */
const messageLines = 20;

/** Splits lines in which other text precedes the header of a traceback, so that each header has its own line. */
export function separateHeaders(lines: readonly string[]): string[] {
  return lines.flatMap((line, index) => {
    const text = line.trimEnd();
    const at = text.length - header.length - 1;
    if (at <= 0 || !text.endsWith(`${header}:`)) return [line];
    const before = text.slice(0, at);
    // The header stays on its line in an exception group, which has a margin, and in a quoted traceback, which is
    // indented.
    if (/^[\s|+]*(?:Exception Group )?$/.test(before) && !frame.test(lines[index + 1] ?? "")) return [line];
    return [before, text.slice(at)];
  });
}

/**
 * Returns all tracebacks in the order of the log. `cut` is true if the lines begin in the middle of the log, so that
 * the first traceback may lack its header.
 */
export function findTracebacks(lines: readonly string[], cut: boolean): Traceback[] {
  const found: Traceback[] = [];
  let inFirst = cut;
  for (let index = 0; index < lines.length; ) {
    const block = blockAt(lines, index, inFirst);
    // The first line may itself be cut, so it does not count as the end of a cut traceback.
    if (index > 0 && !body.test(lines[index] ?? "")) inFirst = false;
    if (block?.message !== undefined) {
      const { start, of, chained } = origin(lines, index);
      const before = chained ? found.pop() : undefined;
      found.push(new FoundTraceback(lines, block.message, { start: before?.start ?? start, end: block.end, of }));
      inFirst = false;
    }
    index = block?.end ?? index + 1;
  }
  return found;
}

/**
 * A traceback that builds its message only when it is read. A log may have thousands of tracebacks, and only a few
 * messages are needed.
 */
class FoundTraceback implements Traceback {
  readonly start: number;
  readonly end: number;
  readonly of: Traceback["of"];
  readonly #lines: readonly string[];
  readonly #first: string;

  constructor(lines: readonly string[], first: string, { start, end, of }: Omit<Traceback, "message">) {
    this.start = start;
    this.end = end;
    this.of = of;
    this.#lines = lines;
    this.#first = first;
  }

  get message(): readonly string[] {
    return [this.#first, ...continuation(this.#lines, this.end)];
  }
}

/**
 * Lines that look like a traceback, up to the index `end`. `message` is the line that names the exception. If there is
 * no such line, these lines are not a traceback.
 */
interface Block {
  readonly end: number;
  readonly message: string | undefined;
}

/** Returns the traceback that begins at this line; undefined if none begins here. */
function blockAt(lines: readonly string[], index: number, cut: boolean): Block | undefined {
  const line = lines[index] ?? "";
  if (group.test(line)) return groupAt(lines, index);
  if (line.startsWith(`${header}:`) || boxed.test(line)) return plainAt(lines, index + 1);
  if (syntax.test(line)) return { end: index + 1, message: line };
  if (!frame.test(line)) return undefined;
  const block = plainAt(lines, index + 1);
  // The last line is examined again, because it may begin another traceback.
  return cut || syntax.test(block.message ?? "")
    ? block
    : { end: Math.max(index + 1, block.end - 1), message: undefined };
}

/** Reads an ordinary traceback, from its first frame to the line that names the exception. */
function plainAt(lines: readonly string[], from: number): Block {
  for (let index = from; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (body.test(line) || isSilent(line)) continue;
    // Another process wrote at the same time, or this one was killed.
    if (line.startsWith(header)) return { end: index, message: undefined };
    if (exception.test(line.slice(0, 1000))) return { end: index + 1, message: line };
    // A line of another program among the frames is skipped. If no frame follows, the line counts as the message.
    if (!/^ +\S/.test(lines[index + 1] ?? "")) return { end: index + 1, message: line };
  }
  return { end: lines.length, message: undefined };
}

/**
 * Reads the traceback of an exception group, which Python prints with `|` in the margin. The message names the group
 * and its members.
 */
function groupAt(lines: readonly string[], from: number): Block {
  let end = from + 1;
  while (end < lines.length && /^\s+[|+]/.test(lines[end] ?? "")) end++;
  const named = lines
    .slice(from, end)
    .map(behindMargin)
    .filter((line) => exception.test(line.slice(0, 1000)) && !line.includes(header));
  const [first = "", ...members] = named;
  const leaves = members.filter((line) => !/\(\d+ sub-exceptions?\)$/.test(line));
  return { end, message: [first, leaves.slice(0, 5).join("; ")].filter(Boolean).join(": ") };
}

/**
 * Returns the text after the margin `| `; empty if there is no margin. Uses no regular expression, because it could
 * backtrack for long.
 */
function behindMargin(line: string): string {
  let at = 0;
  while (line[at] === "|" || line[at] === " " || line[at] === "\t") at++;
  return line.slice(at - 2, at) === "| " ? line.slice(at) : "";
}

/**
 * Returns the lines that may belong to the message of an exception. Later output of the program may be among them,
 * because it looks the same.
 */
function continuation(lines: readonly string[], from: number): string[] {
  const more: string[] = [];
  for (const line of lines.slice(from, from + 2 * messageLines)) {
    if (line.startsWith(header) || link.test(line) || boundary.test(line) || group.test(line)) break;
    if (line.trim() !== "" && isSilent(line)) break;
    more.push(line.trimEnd());
  }
  while (more.at(-1) === "") more.pop();
  return more.slice(0, messageLines);
}

/**
 * Finds out, from the lines before a traceback, where the exception was raised. Also tells whether it is chained to the
 * previous traceback.
 */
function origin(lines: readonly string[], index: number): { start: number; of: Traceback["of"]; chained: boolean } {
  const [first, second] = spokenBefore(lines, index);
  const line = lines[first] ?? "";
  if (link.test(line)) return { start: index, of: "main", chained: true };
  if (line === '"""' && (lines[second] ?? "").includes("RemoteTraceback:"))
    return { start: second, of: "main", chained: false };
  const worker = /\bProcess ([\w.-]{1,200}):$/.exec(line.slice(-300))?.[1];
  if (worker) return { start: index, of: { worker }, chained: false };
  const aside = /Exception ignored |^future: <|--- Logging error ---/.test(line.slice(0, 1000));
  const thread = /Exception in thread/.test(line.slice(0, 1000));
  return { start: index, of: aside ? "aside" : thread ? "thread" : "main", chained: false };
}

/** Returns the indexes of the last two lines before this one that are not blank. */
function spokenBefore(lines: readonly string[], index: number): [number, number] {
  const before = (from: number) => {
    let at = from - 1;
    while (at >= 0 && from - at < 10 && lines[at]?.trim() === "") at--;
    return at;
  };
  const first = before(index);
  return [first, before(first)];
}
