/** Finds, in a log, the exception that ended a Python program, and the exception's message. */
import { carrier, isOfLibrary, runnerFailed, workerGone } from "../datachain/messages.ts";
import { isSilent, linesOf } from "./log-lines.ts";
import { findTracebacks, separateHeaders, type Traceback } from "./tracebacks.ts";

/** The exception that ended a Python program. */
export interface Raised {
  readonly message: string;
  /** Tracebacks of the exception and of its causes, oldest first. */
  readonly stack: string;
  /**
   * Number of log lines after the traceback. Other tracebacks do not count, nor do indented lines, which belong to a
   * message.
   */
  readonly after: number;
}

/**
 * Returns the exception that ended the program; undefined if the log contains none. `cut` is true if `plain` is only
 * the end of the log.
 */
export function raisedIn(plain: string, cut: boolean): Raised | undefined {
  const lines = separateHeaders(linesOf(plain));
  const all = findTracebacks(lines, cut);
  const told = all.filter(({ of }) => of !== "aside");
  const last = told.findLast(({ of }) => of === "main") ?? told.at(-1);
  if (!last) return undefined;
  const chain = causes(lines, told, told.indexOf(last));
  return {
    message: messageOf(lines, chain[0] ?? last),
    stack: chain.map((traceback) => textOf(lines, traceback)).join("\n\n"),
    after: spokenAfter(lines, all.slice(all.indexOf(last))),
  };
}

/** Maximum number of lines directly before a traceback that say in which thread or process it occurred. */
const introduction = 2;

/** Counts the lines that are not part of a traceback, from the first of these tracebacks to the end of the log. */
function spokenAfter(lines: readonly string[], tracebacks: readonly Traceback[]): number {
  const spoken = (line: string) => /^\S/.test(line) && !isSilent(line);
  const gaps = tracebacks.map(({ end }, index) => {
    const next = tracebacks[index + 1];
    const gap = lines.slice(end, next?.start).filter(spoken).length;
    return next && next.of !== "main" ? Math.max(0, gap - introduction) : gap;
  });
  return gaps.reduce((sum, gap) => sum + gap, 0);
}

/** Returns the text of a traceback, without the progress bars that were printed into it. */
function textOf(lines: readonly string[], { start, end, message }: Traceback): string {
  const said = lines.slice(start, end).filter((line) => line.trim() === "" || !isSilent(line));
  return [...said, ...message.slice(1)].join("\n").trimEnd();
}

/** Maximum length of a chain of tracebacks in which each only reports that another process failed. */
const deepest = 8;

/**
 * Returns a traceback and the tracebacks that caused it, oldest first. The dataset library runs functions in a
 * worker process, which an intermediate process starts. If the worker fails, the other two processes only report that a
 * process failed, so the real reason is the exception in the worker.
 */
function causes(lines: readonly string[], told: readonly Traceback[], last: number): Traceback[] {
  const chain: Traceback[] = [];
  for (let at = last; told[at] && chain.length < deepest; at = causeOf(lines, told, at)) {
    chain.unshift(told[at] as Traceback);
  }
  return chain;
}

/** Returns the index of the traceback that caused the traceback at `index`; -1 if there is none. */
function causeOf(lines: readonly string[], told: readonly Traceback[], index: number): number {
  const { start, message } = told[index] as Traceback;
  const [line = ""] = message;
  const before = told.slice(0, index);
  if (runnerFailed.test(line)) {
    const runner = before.at(-1);
    const isRunner = runner && lines.slice(runner.start, runner.end).some(isOfLibrary);
    return isRunner ? index - 1 : -1;
  }
  const [, gone] = workerGone.exec(line) ?? [];
  if (gone) return before.findLastIndex(({ of }) => typeof of === "object" && of.worker === gone);
  const inner = passedOn(line);
  if (line.startsWith(carrier)) {
    return before.findLastIndex((other) => typeof other.of === "object" && other.message[0]?.endsWith(inner));
  }
  const child = before.at(-1);
  const adjacent = child && lines.slice(child.end, start).every(isSilent);
  return adjacent && line.startsWith("subprocess.CalledProcessError: ") ? index - 1 : -1;
}

/** Removes the name of a wrapper exception from the beginning of a message. */
const passedOn = (line: string) => (line.startsWith(carrier) ? line.slice(carrier.length) : line).replace(/: $/, "");

/** Maximum number of lines that are added to a message whose first line is incomplete. */
const moreLines = 3;

/** Returns the message of an exception as one line. If its first line is incomplete, the next lines are appended. */
function messageOf(lines: readonly string[], { message: [first = "", ...rest], start, end }: Traceback): string {
  const line = passedOn(first);
  const goesOn = line.endsWith(":") || /: ?$/.test(first) || /\d+ validation errors? for /.test(line.slice(0, 1000));
  const more = goesOn
    ? rest
        .map((next) => next.trim())
        .filter((next) => next !== "")
        .slice(0, moreLines)
    : [];
  return [line.trimEnd(), ...more].join(" ") + placeOf(line, lines.slice(start, end));
}

/**
 * Returns the file and line of a syntax error as text. Returns an empty text for other exceptions, because their stack
 * shows the location.
 */
function placeOf(line: string, lines: readonly string[]): string {
  if (!/^(?:SyntaxError|IndentationError|TabError): /.test(line)) return "";
  const place = lines.findLast((text) => /^\s+File "/.test(text));
  const [, path = "", number] = /^\s+File "(.*)", line (\d+)/.exec(place ?? "") ?? [];
  return number ? ` (${path.split("/").at(-1)}, line ${number})` : "";
}
