/** Builds the job request from files and flags, in the same form as the `datachain` client. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Job, JobInput, QueryType } from "@millrace/contract";
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
    ...credentials(flags["credentials-name"]),
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
export function composeRerun(job: Job, ignoreCheckpoints: boolean, params: readonly string[] = []): JobInput {
  return {
    ...(job.script ? { script: job.script } : { query: job.query }),
    query_type: job.query_type,
    query_name: job.name,
    environment: environmentText(job.environment),
    requirements: job.requirements,
    workers: job.workers,
    python_version: job.python_version,
    repository: job.repository,
    files: job.files,
    tags: job.tags,
    priority: job.priority,
    compute_cluster_name: job.compute_cluster_name,
    ...credentials(job.credentials_names ?? (job.credentials_name === null ? [] : [job.credentials_name])),
    params: { ...job.params, ...readParams(params) },
    rerun_from_job_id: job.id,
    reset: ignoreCheckpoints,
    ...set({ timeout: job.timeout, retries: job.retries, retry_delay: job.retry_delay }),
  };
}

/**
 * Returns the fields for credentials. A single name is sent as `credentials_name`, as in the `datachain` client. An
 * empty name means no credentials.
 */
const credentials = (names: readonly string[]): Pick<JobInput, "credentials_name" | "credentials_names"> =>
  names.length > 1 ? { credentials_names: [...names] } : { credentials_name: names[0] ?? null };

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

/**
 * Returns NAME=VALUE lines that dotenv parses back to the same values. A value is put in quotes of a kind that it does
 * not contain, because quotes cannot be escaped in dotenv.
 */
export const environmentText = (environment: Readonly<Record<string, string>>) =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${quoted(name, value)}`)
    .join("\n");

function quoted(name: string, value: string): string {
  if (/^[\w./:@%+,=-]*$/.test(value)) return value;
  // Between double quotes, dotenv reads a backslash followed by n as a newline.
  const quote = ["'", "`", '"'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes("\\n")));
  if (quote) return quote + value + quote;
  throw new CliError(`The variable ${name} of the job cannot be sent again`, {
    why: "Its value cannot be quoted in the dotenv format: it contains single quotes, backticks, and either double quotes or a backslash followed by n",
    next: "Run the job again with millrace job run FILE --env-file FILE, and write the value differently",
  });
}
