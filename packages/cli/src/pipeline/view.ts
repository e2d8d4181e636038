/** Formats pipelines for people and programs. */
import {
  isUnfinished,
  type JobPipelineRun,
  type JobStatus,
  type Pipeline,
  type PipelineStatus,
} from "@millrace/contract";
import { ageText, durationText, statusStyle } from "../job/view.ts";
import type { Column, Line, Style } from "../output.ts";
import { branchesOf } from "./tree.ts";

const statusStyles: Partial<Record<PipelineStatus, Style>> = {
  COMPLETED: "green",
  FAILED: "red",
  CANCELED: "yellow",
  PAUSED: "yellow",
  RUNNING: "cyan",
};
const styleOf = (status: PipelineStatus): Style => statusStyles[status] ?? "plain";

export function pipelineColumns(now = Date.now()): Column<Pipeline>[] {
  return [
    { title: "NAME", full: ({ name }) => name },
    { title: "STATUS", full: ({ status }) => status, style: ({ status }) => styleOf(status) },
    { title: "DONE", full: ({ completed, total }) => `${completed}/${total}` },
    { title: "TARGET", full: targets, shrinks: "last" },
    { title: "CREATED", full: ({ created_at }) => created_at, short: ({ created_at }) => ageText(created_at, now) },
    { title: "BY", full: ({ created_by }) => created_by, shrinks: true },
  ];
}

const targets = ({ triggered_from, datasets }: Pipeline) =>
  datasets.length > 1 ? `${triggered_from} and ${datasets.length - 1} more` : triggered_from;

const marks: Partial<Record<JobStatus, string>> = {
  COMPLETE: "✔",
  FAILED: "✖",
  CANCELED: "✖",
  PENDING: "·",
  RUNNING: "▶",
  INIT: "▶",
};

/**
 * Returns the lines that show a pipeline. If they would be more than `room` lines, shows only runs that are neither
 * pending nor complete, as many as fit.
 */
export function pipelineLines(pipeline: Pipeline, room = Number.POSITIVE_INFINITY, now = Date.now()): Line[] {
  const head = headLines(pipeline);
  const branches = branchesOf(pipeline.job_runs);
  const left = Math.max(1, room - head.length);
  const shown = branches.length <= left ? branches : branches.filter(({ run }) => matters(run)).slice(0, left - 1);
  const width = Math.max(0, ...shown.map(({ run, stem }) => stem.length + run.name.length));
  const lines = shown.map(({ run, stem, also }) => ({
    text: `${stem}${marks[run.status] ?? "○"} ${run.name.padEnd(width - stem.length)}  ${runText(run, also, now)}`,
    style: statusStyle(run.status),
  }));
  const hidden = branches.length - shown.length;
  return [...head, ...lines, ...(hidden > 0 ? [{ text: `  and ${hidden} more runs`, style: "dim" as const }] : [])];
}

const matters = ({ status }: JobPipelineRun) => !["PENDING", "COMPLETE"].includes(status);

function runText(
  { status, created_job_id, started_at, finished_at }: JobPipelineRun,
  also: readonly string[],
  now: number,
) {
  const took = started_at
    ? durationText(((finished_at ? Date.parse(finished_at) : now) - Date.parse(started_at)) / 1000)
    : "";
  const after = also.length > 0 ? `also after ${also.join(", ")}` : "";
  return [status.padEnd(8), created_job_id ?? "", took, after].filter((part) => part !== "").join("  ");
}

function headLines(pipeline: Pipeline): Line[] {
  const { name, status, completed, total, error_message } = pipeline;
  const head = { text: `${name}  ${status}  ${bar(completed, total)} ${completed}/${total}`, style: styleOf(status) };
  const from = { text: `rebuilds ${pipeline.datasets.join(", ")}`, style: "dim" as const };
  const moment = pipeline.scheduled_at
    ? [{ text: `for ${pipeline.scheduled_at} (${pipeline.scheduled_timezone})`, style: "dim" as const }]
    : [];
  const error = (error_message ?? "").split("\n").filter((line) => line !== "");
  return [head, from, ...moment, ...error.map((text) => ({ text, style: "red" as const }))];
}

const barWidth = 20;

function bar(completed: number, total: number): string {
  const filled = total === 0 ? barWidth : Math.floor((completed / total) * barWidth);
  return "█".repeat(filled) + "░".repeat(barWidth - filled);
}

/**
 * Returns the command that the user probably needs next; undefined if no command is needed. A PENDING pipeline is a
 * template of a schedule or backfill and never runs itself, so it needs none.
 */
export function nextStep({ name, status }: Pipeline): string | undefined {
  if (status === "PENDING") return undefined;
  if (status === "PAUSED") return `millrace pipeline resume ${name}`;
  if (status === "FAILED" || status === "CANCELED") return `millrace pipeline rerun ${name}`;
  return isUnfinished(status) ? `millrace pipeline status ${name} --watch` : undefined;
}
