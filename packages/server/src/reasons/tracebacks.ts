/** Tracebacks in the lines of a log, wherever they begin: after a progress bar, in the middle of a line, cut in front. */
import { isSilent } from "./log-lines.ts";

export interface Traceback {
  /** The first line, with the tracebacks that it is chained to. */
  readonly start: number;
  /** After the line that names the exception. */
  readonly end: number;
  /** The line that names the exception, and those that may belong to its message. */
  readonly message: readonly string[];
  /**
   * Whose it is: that of a worker process is known by its name; one of a thread ends no process, and one that Python
   * ignored or a task left behind is told when the process has ended for another reason.
   */
  readonly of: "main" | "thread" | "aside" | { readonly worker: string };
}

const header = "Traceback (most recent call last)";
const group = /^ {2}[+|] (?:Exception Group Traceback \(most recent call last\):$|\S.*\(\d+ sub-exceptions?\)$)/;
const link = /^(?:During handling of the above exception, another|The above exception was the direct cause of)/;
/** A script that does not parse prints no header. */
const syntax = /^(?:SyntaxError|IndentationError|TabError): /;
const frame = /^ {2}File "/;
/** `module.Name: message`, or the name alone. */
const exception = /^[\p{L}_][\p{L}\p{N}_.<>]*(?::|$)/u;
/** Frames are indented; in a box where `rich` drew them; behind a mark where loguru did. */
const body = /^(?:\s|[│╭╰├|+]|> |$)/;
const boxed = /^[╭+][─-]+ Traceback \(most recent call last\) /;
/** What the next part of a log may begin with: it belongs to no message. */
const boundary = /^(?:Exception (?:ignored|in thread)|Process [\w.-]+:$|Task exception was never|""")/;
/** Lines of a message beyond its first. */
const messageLines = 20;

/** Puts the header of a traceback on a line of its own, whatever was written in front of it. */
export function separateHeaders(lines: readonly string[]): string[] {
  return lines.flatMap((line, index) => {
    const text = line.trimEnd();
    const at = text.length - header.length - 1;
    if (at <= 0 || !text.endsWith(`${header}:`)) return [line];
    const before = text.slice(0, at);
    // A group has a margin, and a text that quotes a traceback indents its frames as well.
    if (/^[\s|+]*(?:Exception Group )?$/.test(before) && !frame.test(lines[index + 1] ?? "")) return [line];
    return [before, text.slice(at)];
  });
}

/** In their order. `cut`: the lines begin somewhere in the log, so a traceback may have lost its beginning. */
export function findTracebacks(lines: readonly string[], cut: boolean): Traceback[] {
  const found: Traceback[] = [];
  let inFirst = cut;
  for (let index = 0; index < lines.length; ) {
    const block = blockAt(lines, index, inFirst);
    // Of the first line only the end is there.
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

/** A log may hold thousands of tracebacks, and few are asked for their message. */
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

/** Lines that belong together. Without a message it is none: no exception is named. */
interface Block {
  readonly end: number;
  readonly message: string | undefined;
}

function blockAt(lines: readonly string[], index: number, cut: boolean): Block | undefined {
  const line = lines[index] ?? "";
  if (group.test(line)) return groupAt(lines, index);
  if (line.startsWith(`${header}:`) || boxed.test(line)) return plainAt(lines, index + 1);
  if (syntax.test(line)) return { end: index + 1, message: line };
  if (!frame.test(line)) return undefined;
  const block = plainAt(lines, index + 1);
  // The last line is looked at again: it may begin another.
  return cut || syntax.test(block.message ?? "")
    ? block
    : { end: Math.max(index + 1, block.end - 1), message: undefined };
}

/** From the first frame on. */
function plainAt(lines: readonly string[], from: number): Block {
  for (let index = from; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (body.test(line) || isSilent(line)) continue;
    // Another process wrote at once, or this one was killed.
    if (line.startsWith(header)) return { end: index, message: undefined };
    if (exception.test(line.slice(0, 1000))) return { end: index + 1, message: line };
    // Somebody else's line among the frames; where no frame follows it, it is what there is.
    if (!/^ +\S/.test(lines[index + 1] ?? "")) return { end: index + 1, message: line };
  }
  return { end: lines.length, message: undefined };
}

/** A group of exceptions stands in a margin of its own; its message is that of the group, and those of its members. */
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

/** What stands after `| `; empty: the line has no margin. Without an expression, which could look at a long margin again and again. */
function behindMargin(line: string): string {
  let at = 0;
  while (line[at] === "|" || line[at] === " " || line[at] === "\t") at++;
  return line.slice(at - 2, at) === "| " ? line.slice(at) : "";
}

/** Lines that may belong to the message; what was written after it cannot be told from them. */
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

/** What stands before a traceback: whose it is, and whether it goes on from the one before. */
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

/** The last two lines before this one that are not blank. */
function spokenBefore(lines: readonly string[], index: number): [number, number] {
  const before = (from: number) => {
    let at = from - 1;
    while (at >= 0 && from - at < 10 && lines[at]?.trim() === "") at--;
    return at;
  };
  const first = before(index);
  return [first, before(first)];
}
