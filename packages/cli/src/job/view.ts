/** Formats jobs and clusters for people and programs. */
import type { Cluster, Job, JobAttempts, JobStatus, Step, UsageSample } from "@millrace/contract";
import type { Column, Style } from "../output.ts";
import { shortId } from "./id.ts";

const statusStyles: Partial<Record<JobStatus, Style>> = {
  COMPLETE: "green",
  FAILED: "red",
  CANCELED: "yellow",
  CANCELING: "yellow",
  RUNNING: "cyan",
  INIT: "cyan",
};
export const statusStyle = (status: JobStatus): Style => statusStyles[status] ?? "plain";

export function jobColumns(extended: boolean, now = Date.now()): Column<Job>[] {
  const columns: Column<Job>[] = [
    { title: "ID", full: (job) => job.id, short: (job) => shortId(job.id) },
    { title: "NAME", full: (job) => job.name ?? "", shrinks: "last" },
    { title: "STATUS", full: (job) => job.status, style: (job) => statusStyle(job.status) },
    { title: "CREATED", full: (job) => job.created_at, short: (job) => ageText(job.created_at, now) },
    { title: "STARTED", full: (job) => job.started_at ?? "", short: null },
    { title: "TOOK", full: (job) => String(seconds(job, now) ?? ""), short: (job) => tookText(job, now) },
    { title: "BY", full: (job) => job.created_by, shrinks: true },
  ];
  if (!extended) return columns;
  const stages = (job: Job) => (job.steps ?? []).map((step) => `${step.label || step.name} ${stepTook(step, job)}`);
  return [
    ...columns,
    { title: "CLUSTER", full: (job) => job.compute_cluster_name ?? "", shrinks: true },
    { title: "STAGES", full: (job) => stages(job).join(", "), shrinks: true, least: 20 },
  ];
}

export const clusterColumns: Column<Cluster>[] = [
  { title: "ID", full: (cluster) => String(cluster.id) },
  { title: "NAME", full: (cluster) => cluster.name, shrinks: "last" },
  { title: "STATUS", full: (cluster) => cluster.status },
  { title: "PROVIDER", full: (cluster) => cluster.cloud_provider },
  { title: "REGION", full: (cluster) => cluster.cloud_region ?? "-", short: null },
  { title: "INSTANCE", full: (cluster) => cluster.instance_type ?? "-", short: null },
  { title: "ISOLATION", full: (cluster) => cluster.isolation },
  {
    title: "BUSY/ACTIVE/MAX",
    full: ({ busy_workers, active_workers, max_workers }) => `${busy_workers}/${active_workers}/${max_workers}`,
  },
  { title: "DEFAULT", full: (cluster) => (cluster.default ? "yes" : "no") },
];

export const usageColumns: Column<UsageSample>[] = [
  { title: "AT", full: ({ at }) => at },
  { title: "CPU SECONDS", full: (sample) => String(sample.cpu_seconds) },
  {
    title: "MEMORY",
    full: (sample) => String(sample.memory_bytes),
    short: (sample) => sizeText(sample.memory_bytes),
  },
  { title: "PROCESSES", full: (sample) => String(sample.processes) },
];

/** Returns the names and values of all non-empty fields of a job, the most important ones first. */
export function jobFields(job: Job, attempts?: JobAttempts, now = Date.now()): [string, string][] {
  const { status, steps, environment, params, metrics, error_message, error_stack, query, requirements, ...rest } = job;
  const fields: [string, string][] = [
    ["status", status],
    ["took", tookText(job, now)],
    ...(attempts === undefined ? [] : attemptFields(attempts, now)),
    ...Object.entries(rest).map(([name, value]): [string, string] => [name, valueText(value)]),
    ["params", mapText(params, ", ")],
    ["metrics", mapText(metrics, ", ")],
    ["environment", mapText(environment, "\n")],
    ["requirements", requirements?.trim() ?? ""],
    ["stages", (steps ?? []).map((step) => `${step.label || step.name}: ${stepTook(step, job)}`).join("\n")],
    ["error_message", error_message ?? ""],
    ["error_stack", error_stack ?? ""],
    ["query", query],
  ];
  return fields.filter(([, value]) => value !== "" && value !== "-");
}

/** Returns the fields about attempts. A list of attempts is left out if there is only one and no retry is due. */
function attemptFields({ attempts, next_attempt_at, waits_for }: JobAttempts, now: number): [string, string][] {
  const waits: [string, string][] = [["waits_for", waits_for ?? ""]];
  if (next_attempt_at === null && attempts.length < 2) return waits;
  const lines = attempts.map((attempt) => {
    const { number, status, started_at, error_message } = attempt;
    const why = error_message === null ? "" : `: ${error_message}`;
    return `${number}  ${started_at ?? ""}  ${status} after ${tookText(attempt, now)}${why}`;
  });
  return [["attempts", lines.join("\n")], ["next_attempt_at", next_attempt_at ?? ""], ...waits];
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

const mapText = (map: Readonly<Record<string, unknown>>, separator: string) =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(separator);

/**
 * Returns the duration of a stage as text. It is `-` if the job ended but the stage has no end time, because the
 * duration is then unknown.
 */
function stepTook(step: Step, job: Job): string {
  if (step.finished_at) return durationText((Date.parse(step.finished_at) - Date.parse(step.started_at)) / 1000);
  return job.finished_at ? "-" : "running";
}

type Timed = Pick<Job, "started_at" | "finished_at">;

function seconds(job: Timed, now: number): number | undefined {
  if (!job.started_at) return undefined;
  return ((job.finished_at ? Date.parse(job.finished_at) : now) - Date.parse(job.started_at)) / 1000;
}

export function tookText(job: Timed, now = Date.now()): string {
  const took = seconds(job, now);
  return took === undefined ? "-" : durationText(took);
}

export function durationText(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  return whole < 86_400
    ? `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`
    : `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3600)}h`;
}

/** Formats an age in a single unit, which is precise enough to recognize a job. */
export function ageText(time: string, now: number): string {
  const age = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (age < 60) return `${age}s ago`;
  if (age < 3600) return `${Math.floor(age / 60)}m ago`;
  return age < 86_400 ? `${Math.floor(age / 3600)}h ago` : `${Math.floor(age / 86_400)}d ago`;
}

export const sizeUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats a size in the units of the settings, such as `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(sizeUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${sizeUnits[power]}`;
}
