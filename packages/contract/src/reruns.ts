/** The request that runs a job again. The command line and the web UI send the same. */
import type { Job, JobInput } from "./jobs.ts";

/** Returns the request that runs a job again. If the job is a task, the request is for a single job that starts now. */
export function rerunInput(job: Job): JobInput {
  const names = job.credentials_names ?? (job.credentials_name === null ? [] : [job.credentials_name]);
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
    ...credentialsInput(names),
    params: job.params,
    rerun_from_job_id: job.id,
    reset: false,
    ...given({ timeout: job.timeout, retries: job.retries, retry_delay: job.retry_delay }),
  };
}

const given = <T extends object>(fields: T): { [Name in keyof T]?: NonNullable<T[Name]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/**
 * Returns the fields for credentials. A single name is sent as `credentials_name`, as in the `datachain` client. An
 * empty name means no credentials.
 */
export const credentialsInput = (names: readonly string[]): Pick<JobInput, "credentials_name" | "credentials_names"> =>
  names.length > 1 ? { credentials_names: [...names] } : { credentials_name: names[0] ?? null };

/** A variable whose value the dotenv format cannot express. */
export class UnquotableVariable extends Error {
  readonly variable: string;

  constructor(variable: string) {
    super(
      `The variable ${variable} cannot be sent again: its value contains single quotes, backticks, and either double quotes or a backslash followed by n, which the dotenv format cannot express.`,
    );
    this.variable = variable;
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
  throw new UnquotableVariable(name);
}
