/** Builds the job request from files and flags, in the same form as the `datachain` client. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import {
  credentialsInput,
  type Job,
  type JobInput,
  type QueryType,
  rerunInput,
  UnquotableVariable,
} from "@millrace/contract";
import type { Input } from "../arguments.ts";
import { CliError, messageOf, usageError } from "../errors.ts";
import { readSeconds } from "./seconds.ts";
import { parseStartTime } from "./start-time.ts";

export function composeJob({ flags, arguments: { FILE: file } }: Input<"job run">): JobInput {
  return {
    ...scriptOf(file, flags),
    environment: joinTexts(flags["env-file"], flags.env),
    requirements: joinTexts(flags["req-file"], flags.req),
    workers: flags.workers ?? null,
    python_version: flags["python-version"] ?? null,
    repository: flags.repository ?? null,
    tags: [...flags.tag],
    priority: flags.priority ?? 5,
    compute_cluster_name: flags.cluster ?? null,
    ...credentialsInput(flags["credentials-name"]),
    start_after: flags["start-time"] === undefined ? null : parseStartTime(flags["start-time"]),
    cron_expression: flags.cron ?? null,
    ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
    reset: flags["ignore-checkpoints"],
    ...retryRules(flags),
    ...(flags.params.length > 0 ? { params: readParams(flags.params) } : {}),
  };
}

interface ScriptFlags {
  readonly name: string | undefined;
  readonly script: string | undefined;
  readonly repository: string | undefined;
}

/** Returns the script as fields of the request: the text of a local file, or a path in the repository. */
function scriptOf(file = "", { name: given, script, repository }: ScriptFlags) {
  if (script !== undefined) {
    if (file !== "") throw usageError("FILE and --script cannot be combined", { next: "millrace job run --help" });
    if (!repository)
      throw usageError("--script needs --repository", {
        next: "millrace job run --repository URL@branch --script PATH",
      });
    // `--name` does not change the type of the script.
    return { script, query_type: queryType(basename(script)), query_name: given ?? basename(script) };
  }
  const query = file === "-" ? readText("standard input", 0) : readText(file);
  const name = given ?? (file === "-" ? nameOfInput(query) : basename(file));
  return { query, query_type: queryType(name), query_name: name };
}

interface RetryFlags {
  readonly timeout: string | undefined;
  readonly retries: number | undefined;
  readonly "retry-delay": string | undefined;
}

/**
 * Returns the time limit and retries that the flags set. For absent flags, the server uses the values of the script or
 * the team's defaults.
 */
export function retryRules(flags: RetryFlags): Pick<JobInput, "timeout" | "retries" | "retry_delay"> {
  const { timeout, retries, "retry-delay": delay } = flags;
  return set({ timeout: readSeconds("timeout", timeout), retries, retry_delay: readSeconds("retry-delay", delay) });
}

const set = <T extends object>(fields: T): { [Name in keyof T]?: NonNullable<T[Name]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/**
 * Returns a file name for a script from standard input. The name ends with `.sh` if the shebang names an interpreter
 * other than Python, otherwise with `.py`.
 */
const nameOfInput = (query: string) => (/^#!(?!.*python)/.test(query) ? "stdin.sh" : "stdin.py");

/**
 * Parses the values of `--params`. NAME=VALUE sets a text; a JSON object sets values of any type. Later values replace
 * earlier ones.
 */
function readParams(items: readonly string[]): Record<string, unknown> {
  return Object.assign({}, ...items.map((item) => (item.trimStart().startsWith("{") ? jsonObject(item) : pair(item))));
}

function pair(item: string): Record<string, string> {
  const [, name, value = ""] = /^([^=]+)=([\s\S]*)$/.exec(item) ?? [];
  if (name !== undefined) return { [name.trim()]: value };
  throw usageError(`--params: '${item}' has no value`, { why: "Expected NAME=VALUE, or a JSON object" });
}

function jsonObject(item: string): Record<string, unknown> {
  try {
    return JSON.parse(item) as Record<string, unknown>;
  } catch (error) {
    throw usageError("--params: invalid JSON object", { why: messageOf(error), cause: error });
  }
}

/** Builds the request that runs a job again. If the job is a task, the request is for a single job that starts now. */
export const composeRerun = (job: Job, ignoreCheckpoints: boolean, params: readonly string[] = []): JobInput => ({
  ...sendable(() => rerunInput(job)),
  params: { ...job.params, ...readParams(params) },
  reset: ignoreCheckpoints,
});

function sendable<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof UnquotableVariable)) throw error;
    throw new CliError(`The variable ${error.variable} of the job cannot be sent again`, {
      why: "Its value cannot be quoted in the dotenv format: it contains single quotes, backticks, and either double quotes or a backslash followed by n",
      next: "Run the job again with millrace job run FILE --env-file FILE, and write the value differently",
    });
  }
}

/**
 * Returns the query type for a file name. A `.ts` file gets TYPESCRIPT, which the server refuses with a clear message.
 * If the type were SHELL, the job would fail with confusing syntax errors.
 */
function queryType(name: string): QueryType {
  if (name.endsWith(".py")) return "PYTHON";
  return name.endsWith(".ts") ? "TYPESCRIPT" : "SHELL";
}

/**
 * Returns the text of the file, followed by the items, one per line. Blank lines are kept, as in the `datachain`
 * client.
 */
export function joinTexts(file: string | undefined, items: readonly string[]): string {
  const joined = items.join("\n");
  return file === undefined ? joined : `${readText(file)}\n${joined}`;
}

/** Reads a text file or an open descriptor. Replaces CRLF by LF, as Python does, because a shell fails on CRLF. */
export function readText(path: string, descriptor?: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true })
      .decode(readFileSync(descriptor ?? path))
      .replaceAll(/\r\n?/g, "\n");
  } catch (error) {
    const notText = error instanceof TypeError;
    throw usageError(`Cannot read ${path}`, {
      why: notText ? "The content is not UTF-8 text" : messageOf(error),
      cause: error,
    });
  }
}
