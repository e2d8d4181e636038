/** Pipelines as the API shows them. */
import { answerLimits, type JobPipelineRun, type Pipeline } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import type { ListedPipeline } from "../../store/queries/pipelines/pipeline-lists.ts";
import {
  edgesOf,
  type PipelineRow,
  type RunState,
  runsOf,
  scheduleNameOf,
} from "../../store/queries/pipelines/pipelines.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { withoutVersion } from "../datasets/dataset-names.ts";
import { isComplete } from "../lifecycle/pipeline-progress.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { readSettings, readVariables } from "./pipeline-settings.ts";

export interface PipelineFrame {
  readonly keys: KeyRing;
  /** Whether the values of environment variables are shown. Viewers of the team see the names only. */
  readonly showsValues: boolean;
}

/** Returns a pipeline with its runs. */
export async function pipelineDocument(db: Db, row: ShownPipeline, frame: PipelineFrame): Promise<Pipeline> {
  const runs = await runsOf(db, row.id);
  const parents = await parentsOf(db, row.id);
  return {
    pipeline_id: row.id,
    name: row.name,
    status: row.status,
    job_runs: runs.map((run) => runDocument(run, parents.get(run.job_id) ?? [])),
    completed: runs.filter(isComplete).length,
    total: runs.length,
    error_message: row.error_message,
    error_stack: row.error_stack,
    triggered_from: withoutVersion(row.triggered_from),
    datasets: JSON.parse(row.datasets) as string[],
    created_at: row.created_at,
    created_by: await usernameOf(db, row.user_id),
    updated_at: row.updated_at,
    finished_at: row.finished_at,
    is_template: row.is_template === 1,
    schedule_name: row.schedule_id === null ? null : await scheduleNameOf(db, row.schedule_id),
    schedule_id: row.schedule_id,
    scheduled_at: row.scheduled_at,
    scheduled_timezone: row.scheduled_timezone,
    ...readSettings(row),
    environment_variables: variablesOf(row, frame),
  };
}

type ShownPipeline = Omit<PipelineRow, "asked" | "scopes" | "chain">;

function variablesOf(row: ShownPipeline, { keys, showsValues }: PipelineFrame): Record<string, string> {
  const variables = Object.entries(readVariables(keys, row));
  return Object.fromEntries(variables.map(([name, value]) => [name, showsValues ? value : "***"]));
}

/** Returns a pipeline for a list: long texts are cut, and the field `cut` names them. */
export async function listedPipelineDocument(db: Db, row: ListedPipeline, frame: PipelineFrame): Promise<Pipeline> {
  const isLong = (text: string | null) => text !== null && text.length > answerLimits.listed;
  const short = (text: string | null) => text && beginningOf(text);
  const cut = [
    ...(row.requirements_cut === 1 ? ["requirements"] : []),
    ...(row.environment === null ? ["environment_variables"] : []),
    ...(row.datasets === null ? ["datasets"] : []),
    ...(isLong(row.error_message) ? ["error_message"] : []),
    ...(isLong(row.error_stack) ? ["error_stack"] : []),
  ];
  const shown = {
    ...row,
    environment: row.environment ?? "",
    datasets: row.datasets ?? JSON.stringify([row.triggered_from]),
    error_message: short(row.error_message),
    error_stack: short(row.error_stack),
  };
  const document = await pipelineDocument(db, shown, frame);
  return cut.length === 0 ? document : { ...document, cut };
}

const runDocument = (run: RunState, parent_job_ids: string[]): JobPipelineRun => ({
  job_id: run.job_id,
  created_job_id: run.created_job_id,
  name: run.name,
  status: run.status ?? "PENDING",
  parent_job_ids,
  started_at: run.started_at,
  finished_at: run.finished_at,
});

/** Returns the parents of each run. Runs are identified by the ids of the jobs that they repeat (`job_id`). */
export async function parentsOf(db: Db, pipelineId: string): Promise<Map<string, string[]>> {
  const parents = new Map<string, string[]>();
  for (const { job_id, parent_job_id } of await edgesOf(db, pipelineId)) {
    const known = parents.get(job_id);
    if (known) known.push(parent_job_id);
    else parents.set(job_id, [parent_job_id]);
  }
  return parents;
}
