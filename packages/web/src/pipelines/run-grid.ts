/** The last runs of a pipeline, job by job: which job fails every night, and since when. */
import type { JobPipelineRun, Pipeline } from "@millrace/contract";
import { startOf } from "./pipeline-time.ts";

export interface GridRow {
  readonly key: string;
  readonly name: string;
  /** The run of this job in each pipeline; undefined if the pipeline has no such job. */
  readonly cells: readonly (JobPipelineRun | undefined)[];
}

/** Tells whether two pipelines are runs of the same: of one schedule, or for the same datasets. */
export function isSame(one: Pipeline, other: Pipeline): boolean {
  if (one.schedule_name !== null || other.schedule_name !== null) return one.schedule_name === other.schedule_name;
  return one.triggered_from === other.triggered_from && one.datasets.length === other.datasets.length;
}

/**
 * Rows in the order of the newest pipeline, which is the last; jobs that only older ones have follow. A job is known by
 * its name, because each run repeats another original; jobs of the same name are told apart by their order.
 */
export function gridOf(pipelines: readonly Pipeline[]): GridRow[] {
  const rows = new Map<string, { name: string; cells: (JobPipelineRun | undefined)[] }>();
  for (let column = pipelines.length - 1; column >= 0; column--) {
    const seen = new Map<string, number>();
    for (const run of pipelines[column]?.job_runs ?? []) {
      const count = (seen.get(run.name) ?? 0) + 1;
      seen.set(run.name, count);
      const key = `${count} ${run.name}`;
      const row = rows.get(key) ?? { name: run.name, cells: pipelines.map(() => undefined) };
      row.cells[column] = run;
      rows.set(key, row);
    }
  }
  return [...rows].map(([key, row]) => ({ key, ...row }));
}

export interface GridColumn {
  readonly pipeline: Pipeline;
  /** Milliseconds that the pipeline took, or takes so far; undefined if none of its jobs has started. */
  readonly took: number | undefined;
  /** True if it was created on another day than the column before it. */
  readonly isNewDay: boolean;
}

export function columnsOf(pipelines: readonly Pipeline[], now: number): GridColumn[] {
  const day = (pipeline: Pipeline | undefined) => pipeline && new Date(pipeline.created_at).toDateString();
  return pipelines.map((pipeline, index) => {
    const start = startOf(pipeline);
    const end = pipeline.finished_at === null ? now : Date.parse(pipeline.finished_at);
    return {
      pipeline,
      took: start === null ? undefined : Math.max(0, end - Date.parse(start)),
      isNewDay: day(pipeline) !== day(pipelines[index - 1]),
    };
  });
}
