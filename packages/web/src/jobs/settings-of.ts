/** The settings of a job as names and texts, in the order in which they are shown and compared. */
import { durationWords, type Job } from "@millrace/contract";
import { languages } from "../look/language.ts";
import { priorities } from "../look/priority.ts";

const lines = (values: Readonly<Record<string, unknown>>) =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .sort()
    .join("\n");

const words = (seconds: number | null | undefined) => (seconds ? durationWords(seconds) : "");

export function settingsOf(job: Job): (readonly [string, string])[] {
  return [
    ["Language", languages[job.query_type]],
    ["Repository", job.repository ?? ""],
    ["Script", job.script ?? ""],
    ["Python", job.python_version ?? ""],
    ["Requirements", job.requirements ?? ""],
    ["Cluster", job.compute_cluster_name ?? ""],
    ["Slots", String(job.workers)],
    ["Priority", priorities[job.priority] ?? String(job.priority)],
    ["Credentials", (job.credentials_names ?? [job.credentials_name ?? ""]).join(", ")],
    ["Environment", lines(job.environment)],
    ["Parameters", lines(job.params as Record<string, unknown>)],
    ["Files", job.files.join(", ")],
    ["Tags", job.tags.join(", ")],
    ["Time limit", words(job.timeout)],
    ["Retries", job.retries ? String(job.retries) : ""],
  ];
}
