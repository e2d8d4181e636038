/** Explains why a job failed, as a pure function of its exit code and the end of its log. */
import type { Runtime } from "../runtimes/runtime.ts";
import { raisedIn } from "./exceptions.ts";
import { describeExit, signalOf } from "./exits.ts";
import { fullDevice, hintFor } from "./hints.ts";
import { lastLines, linesOf } from "./log-lines.ts";

/** How an attempt ended. */
export interface Ending {
  /** Exit code of the script; 128 + n if signal n ended it. */
  readonly code: number;
  /** Phase in which the attempt failed, such as `environment` or `query`. */
  readonly phase: string;
  /** Runtime of the job; undefined if it is unknown. */
  readonly runtime: Pick<Runtime, "linesAfterException"> | undefined;
  /** Whether the server's disk was full, so that the log may lack its end. */
  readonly diskFull: boolean;
}

/** The end of a log as plain text. `cut` is true if it is not the whole log. */
export interface Tail {
  readonly plain: string;
  readonly cut: boolean;
}

/** Why a job failed, as the API shows it. */
export interface Reason {
  readonly message: string;
  readonly stack: string | null;
  /** Whether the reason was found. If not, a longer part of the log may contain it. */
  readonly found: boolean;
}

/** Maximum size of a message and of a stack, in bytes. The log has the rest. */
export const reasonLimits = { message: 4096, stack: 64 * 1024 };

/** For each phase before the script runs, the beginning of the message if this phase fails. */
const setups = new Map(
  Object.entries({
    repository: "The repository could not be cloned",
    files: "The job's files could not be copied to its working folder",
    environment: "The environment could not be built",
    datasets: "The team's datasets could not be prepared",
  }),
);

/**
 * Returns why a job failed, with a hint on how to fix it if one is known. Message and stack are shortened to their
 * limits.
 */
export function reasonOf(ending: Ending, tail: Tail): Reason {
  const { message, stack, found } = unbounded(ending, tail);
  return {
    message: withHint(message),
    stack: stack === null ? null : withoutMiddle(stack, reasonLimits.stack),
    found,
  };
}

function unbounded(ending: Ending, { plain, cut }: Tail): Reason {
  const setup = setups.get(ending.phase);
  if (setup) {
    const why = lastError(plain) ?? describeExit(ending.code);
    return { message: `${setup}: ${why}${fullDisk(ending)}`, stack: endOf(plain).join("\n") || null, found: true };
  }
  const raised = raisedIn(plain, cut);
  const ended = raised !== undefined && raised.after <= patience(ending);
  if (ended && signalOf(ending.code) === undefined) {
    return { message: raised.message, stack: raised.stack, found: true };
  }
  return { ...byExit(ending, plain, ended ? raised.stack : undefined), found: ended || !cut };
}

/**
 * Returns the maximum number of log lines after a traceback. If more lines follow, the traceback is not taken as the
 * reason of the failure.
 */
const patience = ({ runtime, code }: Ending) => runtime?.linesAfterException(code) ?? 0;

function byExit(ending: Ending, plain: string, traceback: string | undefined): Omit<Reason, "found"> {
  const lines = endOf(plain);
  // Programs such as dd print more lines after the one about the full disk.
  const telling = lines.slice(0, -messageLines).findLast((line) => fullDevice.test(line));
  const said = [...(telling ? [telling] : []), ...lines.slice(-messageLines)].map((line) => line.trim());
  const end = said.length === 0 ? "It wrote nothing to its log." : `Its log ends with: ${said.join("\n")}`;
  const stack = traceback ?? fatalError(plain) ?? (lines.join("\n") || null);
  return { message: `${describeExit(ending.code)}${fullDisk(ending)} ${end}`, stack };
}

const stackLines = 20;
const messageLines = 3;
const lineBytes = 500;

const endOf = (plain: string) => lastLines(plain, stackLines).map((line) => beginningOfBytes(line, lineBytes));

const fullDisk = ({ diskFull }: Ending) =>
  diskFull ? " The server's disk is full, so the log may lack its end: ask the server's operator to make room." : "";

/**
 * Returns the report that Python's faulthandler wrote after a fatal signal, which shows where each thread was;
 * undefined if the log contains none.
 */
function fatalError(plain: string): string | undefined {
  const lines = linesOf(plain);
  const start = lines.findLastIndex((line) => line.startsWith("Fatal Python error: "));
  return start === -1 ? undefined : lines.slice(start).join("\n").trimEnd();
}

/**
 * Returns the error that an installer or git reports, with the indented lines below it. If the log has no such error,
 * returns the last line of the log that is not blank.
 */
function lastError(plain: string): string | undefined {
  const lines = lastLines(plain, Number.POSITIVE_INFINITY).filter(
    (line) => !line.startsWith("The virtualenv could not"),
  );
  const marked = lines.findLastIndex((line) => /^\s*(?:(?:ERROR|error|fatal):|× )/.test(line));
  if (marked === -1) return lines.at(-1)?.trim();
  // The line before is the remote's reason; git's own line only says that it gave up.
  const first = lines[marked]?.startsWith("fatal: Could not read from remote") ? Math.max(0, marked - 1) : marked;
  const next = lines.findIndex((line, index) => index > marked && !/^\s/.test(line));
  const end = Math.min(next === -1 ? lines.length : next, marked + 1 + causeLines);
  return lines
    .slice(first, end)
    .map((line) => line.trim().replace(/^(?:×|[├╰]─▶|│) */, ""))
    .join(" ");
}

/** Maximum number of indented lines below an error that are added to it. */
const causeLines = 6;

/**
 * Appends a hint to the message, if there is one. If the result is too long, the message is shortened and the hint is
 * kept.
 */
function withHint(message: string): string {
  const hint = hintFor(message);
  if (hint === "") return beginningOfBytes(message, reasonLimits.message);
  const room = reasonLimits.message - Buffer.byteLength(hint) - 2;
  return `${beginningOfBytes(message, room).replace(/\.$/, "")}. ${hint}`;
}

/** Returns the beginning of a text, at most `most` bytes, without cutting a character in two. */
function beginningOfBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/** Shortens a stack in the middle, because its beginning shows the functions and its end shows the exception. */
function withoutMiddle(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const mark = Buffer.from("\n[...]\n");
  let start = bytes.length - Math.floor((most - mark.length) / 2);
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return beginningOfBytes(text, Math.floor((most - mark.length) / 2)) + mark + bytes.toString("utf8", start);
}
