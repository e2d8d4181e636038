/** From files and flags to the job that is sent, composed as the `datachain` client composes it. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Job, JobInput, QueryType } from "@millrace/contract";
import type { Input } from "../arguments.ts";
import { CliError, messageOf, usageError } from "../errors.ts";
import { parseStartTime } from "./start-time.ts";

export function composeJob({ flags, arguments: { FILE: file } }: Input<"job run">): JobInput {
  return {
    query: readText(file),
    query_type: queryType(file),
    query_name: basename(file),
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
    reset: flags["ignore-checkpoints"],
  };
}

/** The same job once more. A task runs once, now: what it does is repeated, not when. */
export function composeRerun(job: Job, ignoreCheckpoints: boolean): JobInput {
  return {
    query: job.query,
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
    params: job.params,
    rerun_from_job_id: job.id,
    reset: ignoreCheckpoints,
  };
}

/** One name goes as the client sends it; an empty one means none. */
const credentials = (names: readonly string[]): Pick<JobInput, "credentials_name" | "credentials_names"> =>
  names.length > 1 ? { credentials_names: [...names] } : { credentials_name: names[0] ?? null };

function queryType(file: string): QueryType {
  if (file.endsWith(".py")) return "PYTHON";
  return file.endsWith(".ts") ? "TYPESCRIPT" : "SHELL";
}

/** The file's text, a line end, then the items line by line: the client's form, blank lines and all. */
export function joinTexts(file: string | undefined, items: readonly string[]): string {
  const joined = items.join("\n");
  return file === undefined ? joined : `${readText(file)}\n${joined}`;
}

/** Text with plain line ends, as Python reads it: a shell would stumble over the others. */
export function readText(path: string, descriptor?: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true })
      .decode(readFileSync(descriptor ?? path))
      .replaceAll(/\r\n?/g, "\n");
  } catch (error) {
    const notText = error instanceof TypeError;
    throw usageError(`Cannot read ${path}`, { why: notText ? "It is not UTF-8 text" : messageOf(error), cause: error });
  }
}

/** NAME=VALUE lines that read back as the same values by dotenv rules, which know no escaped quotes. */
export const environmentText = (environment: Readonly<Record<string, string>>) =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${quoted(name, value)}`)
    .join("\n");

function quoted(name: string, value: string): string {
  if (/^[\w./:@%+,=-]*$/.test(value)) return value;
  // Between double quotes a backslash and an n are a line end.
  const quote = ["'", "`", '"'].find((mark) => !value.includes(mark) && !(mark === '"' && value.includes("\\n")));
  if (quote) return quote + value + quote;
  throw new CliError(`The variable ${name} of the job cannot be sent again`, {
    why: "Its value has every kind of quote in it",
    next: "millrace job run FILE --env-file FILE, with the value written in another way",
  });
}
