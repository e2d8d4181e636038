/** Why a job failed, in words: from its exit and the end of its log. */
import { constants } from "node:os";
import type { QueryType } from "@millrace/contract";
import type { Exit } from "../engines/engine.ts";
import { type JobLogContext, openJobLog } from "../job-log.ts";
import { beginningOf } from "../store/short-texts.ts";

interface Failure {
  readonly error_message: string;
  readonly error_stack: string | null;
}

const tailBytes = 64 * 1024;
/** Characters of a message: the stack, and the log, have the rest. */
const messageLimit = 4096;

const what: Record<string, string> = {
  repository: "The repository could not be cloned",
  files: "The files could not be placed",
  environment: "The environment could not be built",
};

export async function describeFailure(
  context: JobLogContext,
  jobId: string,
  exit: Exit,
  queryType: QueryType,
): Promise<Failure> {
  const { error_message, error_stack } = await failureOf(context, jobId, exit, queryType);
  return { error_message: beginningOf(error_message, messageLimit), error_stack };
}

async function failureOf(context: JobLogContext, jobId: string, exit: Exit, queryType: QueryType): Promise<Failure> {
  const tail = await logTail(context, jobId);
  const setup = what[exit.phase];
  if (setup) return { error_message: `${setup}: ${lastError(tail) ?? describeExit(exit.code)}`, error_stack: null };
  const trace = queryType === "PYTHON" && exit.code < 128 ? lastTraceback(tail) : undefined;
  if (trace) return { error_message: trace.split("\n").at(-1) ?? "", error_stack: trace };
  return { error_message: describeExit(exit.code), error_stack: null };
}

export function describeExit(code: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  if (!signal) return `The script ended with exit code ${code}.`;
  const hint = signal[0] === "SIGKILL" ? " Running out of memory is the usual cause." : "";
  return `The script was ended by signal ${signal[1]} (${signal[0]}).${hint}`;
}

async function logTail(context: JobLogContext, jobId: string): Promise<string> {
  const { log } = await openJobLog(context, jobId);
  log.end();
  try {
    const size = await log.size();
    const bytes = await log.read(Math.max(0, size - tailBytes), tailBytes);
    // The shared store cannot hold NUL characters.
    return bytes.toString("utf8").replaceAll("\0", "\ufffd");
  } finally {
    await log.close();
  }
}

/** The line that an installer or git marks as the error, or else the last line that says anything. */
function lastError(tail: string): string | undefined {
  const lines = tail.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  const marked = lines.findLast((line) => /^(ERROR|error|fatal):/.test(line.trim()));
  return (marked ?? lines.findLast((line) => !line.startsWith("The virtualenv could not")))?.trim();
}

/** The last traceback of the log, up to the line that names the exception. Chained ones come along. */
function lastTraceback(tail: string): string | undefined {
  const lines = tail.replace(/\r\n/g, "\n").split("\n");
  const chained = /^(During handling of the above exception|The above exception was the direct cause)/;
  let start = lines.findLastIndex((line) => line.startsWith("Traceback (most recent call last):"));
  if (start === -1) return syntaxError(lines);
  const end = lines.findIndex((line, index) => index > start && line !== "" && !/^\s/.test(line));
  for (;;) {
    const link = lines.slice(0, start).findLastIndex((line) => line.trim() !== "");
    if (link === -1 || !chained.test(lines[link] ?? "")) break;
    start = lines.slice(0, link).findLastIndex((line) => line.startsWith("Traceback (most recent call last):"));
    if (start === -1) return undefined;
  }
  return lines
    .slice(start, end === -1 ? undefined : end + 1)
    .join("\n")
    .trimEnd();
}

/** A script that does not parse prints no traceback header. */
function syntaxError(lines: readonly string[]): string | undefined {
  const end = lines.findLastIndex((line) => /^(SyntaxError|IndentationError|TabError): /.test(line));
  if (end === -1) return undefined;
  const start = lines.slice(0, end).findLastIndex((line) => /^ {2}File "/.test(line));
  return lines.slice(start === -1 ? end : start, end + 1).join("\n");
}
