/** The runs of a pipeline on a line of time. */
import type { JobPipelineRun } from "@millrace/contract";

export interface Bar {
  readonly run: JobPipelineRun;
  /** Beginning and length as fractions of the whole time. */
  readonly from: number;
  readonly length: number;
  /** How long it waited before, as a fraction of the whole time, and in milliseconds. */
  readonly wait: number;
  readonly waited: number;
}

export interface Gantt {
  readonly begin: number;
  /** Milliseconds from the first start to the last end, or until now. */
  readonly span: number;
  /** In the order of their start. */
  readonly bars: readonly Bar[];
  /** Those without a bar. */
  readonly notStarted: readonly JobPipelineRun[];
}

export function ganttOf(runs: readonly JobPipelineRun[], now: number): Gantt {
  const started = runs.filter(({ started_at }) => started_at !== null);
  const end = ({ finished_at }: JobPipelineRun) => (finished_at === null ? now : Date.parse(finished_at));
  const begin = started.reduce((first, run) => Math.min(first, startOf(run)), Number.POSITIVE_INFINITY);
  const span = Math.max(1, started.reduce((last, run) => Math.max(last, end(run)), begin) - begin);
  const ends = new Map(started.map((run) => [run.job_id, end(run)]));
  const bars = started
    .map((run) => {
      const waited = Math.max(0, startOf(run) - readyAt(run, ends, begin));
      const length = Math.max(0, end(run) - startOf(run)) / span;
      return { run, from: (startOf(run) - begin) / span, length, wait: waited / span, waited };
    })
    .sort((a, b) => a.from - b.from);
  return { begin, span, bars, notStarted: runs.filter(({ started_at }) => started_at === null) };
}

const startOf = ({ started_at }: JobPipelineRun) => Date.parse(started_at ?? "");

/** When everything that a run needs was there: the last end of its parents, or the beginning if it has none. */
const readyAt = ({ parent_job_ids }: JobPipelineRun, ends: ReadonlyMap<string, number>, begin: number) =>
  parent_job_ids.reduce((last, id) => Math.max(last, ends.get(id) ?? begin), begin);

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400];

/** Moments for the marks of the axis, in milliseconds after the beginning: at most six, on round numbers. */
export function marksOf(span: number): number[] {
  const seconds = span / 1000;
  const step = steps.find((one) => seconds / one <= 6) ?? Math.ceil(seconds / 6 / 86_400) * 86_400;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step * 1000);
}
