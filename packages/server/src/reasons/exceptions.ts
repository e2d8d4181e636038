/** Which of the exceptions in a log ended a Python program, and what it says. */
import { carrier, isOfLibrary, runnerFailed, workerGone } from "../datachain/messages.ts";
import { isSilent, linesOf } from "./log-lines.ts";
import { findTracebacks, separateHeaders, type Traceback } from "./tracebacks.ts";

export interface Raised {
  readonly message: string;
  /** The tracebacks that led to it, oldest first. */
  readonly stack: string;
  /** Lines that were written after it, but for other tracebacks; indented ones are of its message. */
  readonly after: number;
}

/** Undefined: there is none. */
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

/** Lines that say whose a traceback is, before it. */
const introduction = 2;

/** Counts lines between tracebacks and after the last. */
function spokenAfter(lines: readonly string[], tracebacks: readonly Traceback[]): number {
  const spoken = (line: string) => /^\S/.test(line) && !isSilent(line);
  const gaps = tracebacks.map(({ end }, index) => {
    const next = tracebacks[index + 1];
    const gap = lines.slice(end, next?.start).filter(spoken).length;
    return next && next.of !== "main" ? Math.max(0, gap - introduction) : gap;
  });
  return gaps.reduce((sum, gap) => sum + gap, 0);
}

/** Without the bars that were drawn meanwhile. */
function textOf(lines: readonly string[], { start, end, message }: Traceback): string {
  const said = lines.slice(start, end).filter((line) => line.trim() === "" || !isSilent(line));
  return [...said, ...message.slice(1)].join("\n").trimEnd();
}

/** Processes that one after another only say that the next failed. */
const deepest = 8;

/**
 * The traceback, and before it those of the processes that it only says failed: oldest first. The library runs functions
 * in workers, started by a process between: the exception of the worker is the reason.
 */
function causes(lines: readonly string[], told: readonly Traceback[], last: number): Traceback[] {
  const chain: Traceback[] = [];
  for (let at = last; told[at] && chain.length < deepest; at = causeOf(lines, told, at)) {
    chain.unshift(told[at] as Traceback);
  }
  return chain;
}

/** -1: it is its own reason. */
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

/** What a line says without the exception that only carried it. */
const passedOn = (line: string) => (line.startsWith(carrier) ? line.slice(carrier.length) : line).replace(/: $/, "");

/** Lines of a message that goes on where the first line says too little. */
const moreLines = 3;

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

/** Where a script does not parse: that is no frame of any function. */
function placeOf(line: string, lines: readonly string[]): string {
  if (!/^(?:SyntaxError|IndentationError|TabError): /.test(line)) return "";
  const place = lines.findLast((text) => /^\s+File "/.test(text));
  const [, path = "", number] = /^\s+File "(.*)", line (\d+)/.exec(place ?? "") ?? [];
  return number ? ` (${path.split("/").at(-1)}, line ${number})` : "";
}
