/**
 * Creates the rows of pipelines and their runs. A template is a pipeline that never runs: a schedule or a backfill runs
 * copies of it.
 */

import type { Db } from "../../store/drivers/store.ts";
import { getShortJobs } from "../../store/queries/jobs/jobs.ts";
import { insertPipeline, insertRuns, type PipelineRow, runsOf } from "../../store/queries/pipelines/pipelines.ts";
import type { Transaction } from "../access/edit.ts";
import { failPipeline } from "../lifecycle/end-job.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { beginDrafts, settle } from "../lifecycle/pipeline-progress.ts";
import { allInNameOf } from "../lifecycle/run-as.ts";
import { type Moment, momentOfPipeline } from "../lifecycle/scheduled-moments.ts";
import { decryptPipelineEnvironment, encryptPipelineEnvironment } from "../secrets/encryption.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { parentsOf } from "./pipeline-documents.ts";
import { type DraftFrame, insertDrafts } from "./pipeline-drafts.ts";
import type { GraphNode } from "./pipeline-graph.ts";
import { pipelineName } from "./pipeline-names.ts";
import { readSettings, readVariables } from "./pipeline-settings.ts";
import { type SourceGraph, whyNotRepeatable } from "./pipeline-sources.ts";

type Named = Omit<PipelineRow, "name" | "run_as"> & Partial<Pick<PipelineRow, "run_as">>;

/** Inserts a pipeline with a generated name that is unique in the team. */
export async function insertNamed(db: Db, row: Named): Promise<PipelineRow> {
  for (let tries = 0; ; tries++) {
    const named = { run_as: "", ...row, name: pipelineName(tries) };
    if (await insertPipeline(db, named)) return named;
  }
}

/** Returns the values that all drafts of a pipeline share. A draft is the job of a run that has not begun. */
export const draftFrame = (keys: KeyRing, pipeline: PipelineRow, tokenId: number | null): DraftFrame => ({
  keys,
  pipelineId: pipeline.id,
  settings: readSettings(pipeline),
  variables: readVariables(keys, pipeline),
  moment: momentOfPipeline(pipeline),
  tokenId,
});

interface NewRuns {
  /** Ids of the jobs of runs without parents. These jobs may begin at once. */
  readonly ready: readonly string[];
  /** Bytes of long texts that were added to the store. */
  readonly added: number;
}

/**
 * Inserts the runs of a pipeline, each with a draft (a job that has not begun). The drafts remember the access token
 * `tokenId`.
 */
export async function insertRunsWithDrafts(
  transaction: Transaction,
  keys: KeyRing,
  pipeline: PipelineRow,
  { nodes, jobs, tokenId }: SourceGraph & Pick<DraftFrame, "tokenId">,
): Promise<NewRuns> {
  const frame = draftFrame(keys, pipeline, tokenId);
  const { ids: drafts, added } = await insertDrafts(transaction, jobs.values(), frame);
  await insertGraph(transaction.db, pipeline.id, nodes, (jobId) => ({
    created_job_id: drafts.get(jobId) ?? null,
    name: jobs.get(jobId)?.name ?? jobId,
  }));
  const ready = nodes.flatMap(({ jobId, parents }) => (parents.length === 0 ? (drafts.get(jobId) ?? []) : []));
  return { ready, added };
}

type RunOf = (jobId: string) => { readonly created_job_id: string | null; readonly name: string };

/** Returns the rows for the runs of a graph and for the edges between them. */
export const graphRows = (pipeline_id: string, nodes: readonly GraphNode[], runOf: RunOf) => ({
  runs: nodes.map(({ jobId, parents }, position) => ({
    pipeline_id,
    position,
    job_id: jobId,
    waits_for: parents.length,
    ...runOf(jobId),
  })),
  edges: nodes.flatMap(({ jobId, parents }) =>
    parents.map((parent_job_id) => ({ pipeline_id, job_id: jobId, parent_job_id })),
  ),
});

function insertGraph(db: Db, pipelineId: string, nodes: readonly GraphNode[], runOf: RunOf): Promise<void> {
  const { runs, edges } = graphRows(pipelineId, nodes, runOf);
  return insertRuns(db, runs, edges);
}

/**
 * Creates a template from a pipeline and returns the template's id. A template never runs: a schedule or a backfill
 * runs copies of it.
 */
export async function makeTemplate(
  transaction: Transaction,
  keys: KeyRing,
  source: PipelineRow,
  scheduleId: number | null,
): Promise<string> {
  const { db } = transaction;
  const copy = await copyOf(transaction, keys, source);
  const template = { ...copy, status: "PENDING", is_template: 1, schedule_id: scheduleId, open_runs: 0 } as const;
  await insertNamed(db, template);
  const names = new Map((await runsOf(db, source.id)).map(({ job_id, name }) => [job_id, name]));
  await insertGraph(db, template.id, await nodesOf(db, source.id), (jobId) => ({
    created_job_id: null,
    name: names.get(jobId) ?? jobId,
  }));
  return template.id;
}

/**
 * The scheduled time of a pipeline, and its `chain`: the ids of the schedules that led to the pipeline one after
 * another.
 */
type Occasion = Partial<Moment & Pick<PipelineRow, "chain">>;

/**
 * Creates a pipeline from a template, with new jobs, and begins it at once. The jobs remember no access token: a schedule
 * or a backfill goes on after the token with which it was created, until somebody removes it. If a job of the template
 * can no longer be repeated, the new pipeline fails with the reason. `added` in the result is the number of bytes of
 * texts that were added to the store, with which the caller checks the quota.
 */
export async function runTemplate(
  transaction: Transaction,
  keys: KeyRing,
  template: PipelineRow,
  occasion: Occasion = {},
): Promise<{ readonly pipelineId: string; readonly added: number }> {
  const { db, now } = transaction;
  const nodes = await nodesOf(db, template.id);
  const copy = { ...(await copyOf(transaction, keys, template)), ...occasion };
  const pipeline = await insertNamed(db, { ...copy, status: "RUNNING", is_template: 0, open_runs: nodes.length });
  const originals = await getShortJobs(
    db,
    nodes.map(({ jobId }) => jobId),
  );
  const found = await allInNameOf(db, template, originals);
  const jobs = new Map(found.map((job) => [job.id, job]));
  const { ready, added } = await insertRunsWithDrafts(transaction, keys, pipeline, { nodes, jobs, tokenId: null });
  const why =
    jobs.size < nodes.length
      ? `the job ${nodes.find(({ jobId }) => !jobs.has(jobId))?.jobId}, which it repeats, no longer exists. Trigger a new pipeline for the same datasets, and create the schedule or the backfill again from the new pipeline.`
      : await whyNotRepeatable(db, [...jobs.values()]);
  if (why !== undefined)
    await failPipeline(db, pipeline, { error_message: `The pipeline could not start: ${why}`, error_stack: null }, now);
  else await beginDrafts(db, ready);
  // A pipeline without runs is complete at once: all runs of the template may have been removed.
  await settle(db, pipeline, now);
  return { pipelineId: pipeline.id, added };
}

/**
 * Returns a copy of a pipeline's row with a new id. The environment is encrypted again, since a ciphertext is valid
 * only for the id of its own row.
 */
async function copyOf({ db, now }: Transaction, keys: KeyRing, source: PipelineRow): Promise<Named> {
  const { name: _, ...rest } = source;
  const id = newJobId(now);
  const text = decryptPipelineEnvironment(keys, source.id, source.environment);
  return {
    ...rest,
    id,
    environment: await encryptPipelineEnvironment(db, keys, id, text),
    scheduled_at: null,
    scheduled_timezone: null,
    chain: null,
    error_message: null,
    error_stack: null,
    created_at: iso(now),
    updated_at: iso(now),
    finished_at: null,
  };
}

/** Returns the nodes of a pipeline, parents before children. */
async function nodesOf(db: Db, pipelineId: string): Promise<GraphNode[]> {
  const parents = await parentsOf(db, pipelineId);
  return (await runsOf(db, pipelineId)).map(({ job_id: jobId }) => ({ jobId, parents: parents.get(jobId) ?? [] }));
}
