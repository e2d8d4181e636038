/** What is being written in the editor: the fields of the form, and the request that they make. */
import { credentialsInput, environmentText, type Job, type JobInput, type QueryType } from "@millrace/contract";

/** An uploaded file. The name is unknown for files of an earlier job. */
export interface DraftFile {
  readonly id: string;
  readonly name: string;
}

/** All fields are texts, as they were typed, so that nothing is lost while they are not valid yet. */
export interface Draft {
  readonly type: QueryType;
  readonly query: string;
  /** Path of a script in the repository, instead of the query. */
  readonly script: string;
  readonly name: string;
  readonly requirements: string;
  readonly environment: string;
  readonly files: readonly DraftFile[];
  readonly repository: string;
  readonly python: string;
  readonly workers: string;
  readonly priority: string;
  readonly cluster: string;
  /** Names of credentials; `default` for those of the team, `none` for none. */
  readonly credentials: readonly string[] | "default" | "none";
  readonly tags: string;
  readonly params: string;
  readonly timeout: string;
  readonly retries: string;
  readonly retryDelay: string;
  readonly start: "now" | "later" | "cron";
  readonly startAfter: string;
  readonly cron: string;
  readonly timezone: string;
  /** The job that the draft was made from, and whether to ignore its checkpoints. */
  readonly from: string;
  readonly reset: boolean;
}

/** What a part of the form shows and changes. */
export interface DraftForm {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
}

export const emptyDraft: Draft = {
  ...{ type: "PYTHON", query: "", script: "", name: "", requirements: "", environment: "", files: [] },
  ...{ repository: "", python: "", workers: "1", priority: "5", cluster: "", credentials: "default", tags: "" },
  ...{ params: "", timeout: "", retries: "", retryDelay: "", start: "now", startAfter: "", cron: "", timezone: "" },
  ...{ from: "", reset: false },
};

/** Makes a draft that repeats a job. */
export function draftOf(job: Job): Draft {
  const names = job.credentials_names ?? (job.credentials_name === null ? [] : [job.credentials_name]);
  return {
    ...emptyDraft,
    ...{ type: job.query_type, query: job.query, script: job.script ?? "", name: job.name ?? "" },
    requirements: job.requirements ?? "",
    environment: environmentText(job.environment),
    files: job.files.map((id) => ({ id, name: "" })),
    ...{ repository: job.repository ?? "", python: job.python_version ?? "" },
    ...{ workers: String(job.workers), priority: String(job.priority), cluster: job.compute_cluster_name ?? "" },
    credentials: names.length === 0 ? "default" : names,
    tags: job.tags.join(", "),
    params: Object.keys(job.params).length === 0 ? "" : JSON.stringify(job.params, null, 2),
    ...{ timeout: textOf(job.timeout), retries: textOf(job.retries), retryDelay: textOf(job.retry_delay) },
    ...schedule(job),
    from: job.id,
  };
}

const textOf = (value: number | undefined) => (value === undefined ? "" : String(value));

function schedule({ cron_expression, timezone = "", start_after }: Job): Partial<Draft> {
  if (cron_expression !== null) return { start: "cron", cron: cron_expression, timezone };
  return start_after === null ? {} : { start: "later" };
}

/** A field of the draft that cannot be sent as it is. */
export class InvalidField extends Error {}

/** Returns the request of a draft. Throws InvalidField for what only the form knows; the server checks the rest. */
export function inputOf(draft: Draft): JobInput {
  const inRepository = draft.script.trim() !== "";
  if (!inRepository && draft.query.trim() === "") throw new InvalidField("The script is empty. Write what is to run.");
  return {
    ...(inRepository ? { script: draft.script.trim() } : { query: draft.query }),
    query_type: draft.type,
    query_name: text(draft.name),
    requirements: text(draft.requirements),
    environment: text(draft.environment),
    files: draft.files.map(({ id }) => id),
    repository: text(draft.repository),
    python_version: text(draft.python),
    workers: number("Slots", draft.workers) ?? 1,
    priority: number("Priority", draft.priority) ?? 5,
    compute_cluster_name: text(draft.cluster),
    ...credentialsOf(draft),
    tags: draft.tags.split(/[\s,]+/).filter((tag) => tag !== ""),
    params: readParams(draft.params),
    ...given("timeout", number("Time limit", draft.timeout)),
    ...given("retries", number("Retries", draft.retries)),
    ...given("retry_delay", number("Delay of retries", draft.retryDelay)),
    ...startOf(draft),
    ...(draft.from === "" ? {} : { rerun_from_job_id: draft.from, reset: draft.reset }),
  };
}

const text = (value: string) => (value.trim() === "" ? null : value);
const given = <N extends string>(name: N, value: number | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [K in N]?: number };

function number(label: string, value: string): number | undefined {
  if (value.trim() === "") return undefined;
  const read = Number(value);
  if (!Number.isInteger(read)) throw new InvalidField(`${label}: expected a whole number, got ${value}.`);
  return read;
}

function credentialsOf({ credentials }: Draft): Pick<JobInput, "credentials_name" | "credentials_names"> {
  if (credentials === "none") return { credentials_name: "" };
  return credentials === "default" ? {} : credentialsInput(credentials);
}

function startOf({ start, startAfter, cron, timezone }: Draft): Partial<JobInput> {
  if (start === "now") return {};
  if (start === "cron") {
    if (cron.trim() === "") throw new InvalidField("Cron: expected five fields, or a word such as @daily.");
    return { cron_expression: cron.trim(), timezone: text(timezone) };
  }
  const time = Date.parse(startAfter);
  if (Number.isNaN(time)) throw new InvalidField("Start: choose a date and a time.");
  return { start_after: new Date(time).toISOString() };
}

/** Reads parameters: a JSON object, or NAME=VALUE lines. */
export function readParams(source: string): Record<string, unknown> {
  const trimmed = source.trim();
  if (trimmed === "") return {};
  if (trimmed.startsWith("{")) return readObject(trimmed);
  const lines = trimmed.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(lines.map(readPair));
}

function readPair(line: string): [string, string] {
  const [, name, value = ""] = /^([^=]+)=([\s\S]*)$/.exec(line) ?? [];
  if (name === undefined) throw new InvalidField(`Parameters: expected NAME=VALUE, got ${line}.`);
  return [name.trim(), value];
}

function readObject(source: string): Record<string, unknown> {
  try {
    return JSON.parse(source) as Record<string, unknown>;
  } catch (error) {
    throw new InvalidField(`Parameters: ${(error as Error).message}.`);
  }
}
