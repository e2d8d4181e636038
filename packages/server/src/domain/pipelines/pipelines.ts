/** Pipelines: the rules for triggering, reading, pausing, resuming, cancelling and repeating them. */
import {
  ApiError,
  invalid,
  type ListPipelinesQuery,
  type Pipeline,
  type PipelineAction,
  type PipelineInput,
  type PipelineStatus,
  pipelineActions,
  pipelineStatuses,
  roleIncludes,
  type TriggerPipelineInput,
} from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { chainOfJob } from "../../store/queries/jobs/chains.ts";
import { getShortJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import {
  deleteRun,
  edgesOf,
  findPipeline,
  getPipeline,
  listPipelines,
  lockPipeline,
  movePipeline,
  type PipelineRow,
  type RunState,
  replaceDraft,
  runsOf,
  setWaitsFor,
} from "../../store/queries/pipelines/pipelines.ts";
import { BoundedList } from "../../turns/bounded-list.ts";
import { nextLook, nextStretch } from "../../turns/large-answers.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { requireRoomForDatasets, requireRoomForTexts, requireRoomInQueue } from "../access/quotas.ts";
import type { JobsContext } from "../jobs/jobs.ts";
import { cancelDrafts, cancelPipelineRuns } from "../lifecycle/end-job.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { beginDrafts, isComplete, setOpenRuns, settle } from "../lifecycle/pipeline-progress.ts";
import { allInNameOf } from "../lifecycle/run-as.ts";
import { iso } from "../time/clock.ts";
import { draftFrame, insertNamed, insertRunsWithDrafts } from "./new-pipeline.ts";
import { listedPipelineDocument, type PipelineFrame, parentsOf, pipelineDocument } from "./pipeline-documents.ts";
import { insertDrafts } from "./pipeline-drafts.ts";
import { mostNeeds } from "./pipeline-graph.ts";
import { beginReady, pauseRuns, resumeRuns } from "./pipeline-pauses.ts";
import { noSettings } from "./pipeline-settings.ts";
import { findSources, type Sources, whyNot } from "./pipeline-sources.ts";

const frameOf = ({ keys }: JobsContext, team: Team): PipelineFrame => ({
  keys,
  showsValues: roleIncludes(team.role, "editor"),
});

export async function triggerPipeline(
  context: JobsContext,
  call: Call,
  input: TriggerPipelineInput,
  now: number,
): Promise<Pipeline> {
  const { store, keys, signals } = context;
  const { team, principal, actor } = call;
  const pipeline = await store.write(async (db) => {
    const { username } = principal;
    const sources = await findSources(db, team, { datasets: input.datasets, username });
    const { targets, nodes } = sources;
    if (!input.review) await requireRoomInQueue(db, team, context.quotas);
    await requireRoomForDatasets(db, team, context.quotas);
    const { via } = principal;
    const row = await insertNamed(db, {
      ...newRow(call, sources, now),
      chain: via.kind === "job" ? await chainOfJob(db, via.jobId) : null,
      status: input.review ? "PAUSED" : "RUNNING",
      open_runs: nodes.length,
    });
    const { ready, added } = await insertRunsWithDrafts({ db, now }, keys, row, sources);
    await requireRoomForTexts(db, team, added, context.quotas);
    if (!input.review) await beginDrafts(db, ready);
    await audit(db, actor, { action: "pipeline.trigger", team, target: row.name, detail: targets.join(", ") }, now);
    return pipelineDocument(db, row, frameOf(context, team));
  });
  signals.dispatch.wake();
  return pipeline;
}

const newRow = ({ team, principal }: Call, { targets, asked }: Sources, now: number) => ({
  id: newJobId(now),
  team_id: team.id,
  user_id: principal.userId,
  is_template: 0,
  schedule_id: null,
  scheduled_at: null,
  scheduled_timezone: null,
  chain: null,
  triggered_from: targets[0] ?? "",
  datasets: JSON.stringify(targets),
  asked: asked && JSON.stringify(asked),
  settings: JSON.stringify(noSettings),
  environment: "",
  scopes: JSON.stringify(principal.scopes),
  error_message: null,
  error_stack: null,
  created_at: iso(now),
  updated_at: iso(now),
  finished_at: null,
});

/** By name or id; what says neither, or two things, is refused. */
async function findTeamPipeline(
  db: Db,
  team: Team,
  { name, pipeline_id: id }: Pick<PipelineInput, "name" | "pipeline_id">,
): Promise<PipelineRow> {
  if (!name && !id) throw invalid("the pipeline's name or pipeline_id", "one of the two, got neither");
  const row = id ? await getPipeline(db, id.toLowerCase()) : await findPipeline(db, team.id, name ?? "");
  if (!row || row.team_id !== team.id)
    throw new ApiError("not_found", `There is no pipeline ${id ?? name} in the team ${team.name}.`, {
      hint: "list_pipelines",
    });
  if (name && row.name !== name)
    throw invalid("the pipeline's name and pipeline_id", `the same pipeline; ${id} is called ${row.name}`, name);
  return row;
}

export async function readPipeline(context: JobsContext, team: Team, input: PipelineInput): Promise<Pipeline> {
  const { db } = context.store;
  const row = await findTeamPipeline(db, team, input);
  await nextLook();
  return pipelineDocument(db, row, frameOf(context, team));
}

/** A list ends early when its pipelines have so many runs together, or as many needs as one may have. */
const mostListedRuns = 20_000;
/** Pipelines read at a time. */
const listPart = 50;
/** Runs that are read without a break: of a few pipelines, or of a single large one. */
const stretchRuns = 200;

interface PipelineTexts {
  readonly pipelines: readonly string[];
  /** Where to go on; undefined: nothing follows. */
  readonly next: string | undefined;
}

export async function readPipelines(
  context: JobsContext,
  team: Team,
  { status, search, limit = 20, cursor }: ListPipelinesQuery,
): Promise<PipelineTexts> {
  const { db } = context.store;
  const filter = { teamId: team.id, statuses: status && readStatuses(status), text: search };
  const list = new BoundedList();
  let runs = 0;
  let needs = 0;
  // The first waits for its turn, too: whoever asks again and again, and goes, has nothing built.
  let stretch = stretchRuns;
  for (let before = cursor?.toLowerCase(); ; ) {
    const part = Math.min(listPart, limit - list.length);
    const rows = await listPipelines(db, { ...filter, before, limit: part });
    for (const row of rows) {
      if (stretch >= stretchRuns) {
        stretch = 0;
        await nextStretch();
      }
      const pipeline = await listedPipelineDocument(db, row, frameOf(context, team));
      if (!(await list.add(JSON.stringify(pipeline)))) return { pipelines: list.texts, next: before };
      before = row.id;
      runs += pipeline.total;
      stretch += pipeline.total;
      for (const { parent_job_ids } of pipeline.job_runs) needs += parent_job_ids.length;
      if (runs >= mostListedRuns || needs >= mostNeeds) return { pipelines: list.texts, next: before };
    }
    if (rows.length < part) return { pipelines: list.texts, next: undefined };
    if (list.length >= limit) return { pipelines: list.texts, next: before };
  }
}

/** In any letter case, repeated or comma-separated. */
function readStatuses(texts: readonly string[]): PipelineStatus[] | undefined {
  const names = texts.flatMap((text) => text.split(",")).map((name) => name.trim().toUpperCase());
  const found = names.map((name) => {
    const known = pipelineStatuses.find((status) => status === name);
    if (!known) throw invalid("status", `one of ${pipelineStatuses.join(", ")}`, name);
    return known;
  });
  return found.length === 0 ? undefined : [...new Set(found)];
}

/** What somebody wants to do with which pipeline. */
interface PipelineChange {
  readonly action: PipelineAction;
  readonly input: PipelineInput;
  readonly now: number;
}

/** A transaction that holds the lock of the pipeline that somebody changes. */
export interface PipelineEdit extends Edit {
  readonly team: Team;
  readonly pipeline: PipelineRow;
}

/** Changes the pipeline. Returns the detail of the audit entry, if there is one. */
type Work = (edit: PipelineEdit) => Promise<string | undefined>;

/** Finds a pipeline, locks it, checks that its state allows the action, runs the work, audits it, and returns the pipeline. */
export async function changePipeline(
  context: JobsContext,
  { actor, team }: Call,
  { action, input, now }: PipelineChange,
  work: Work,
): Promise<Pipeline> {
  const { store, signals } = context;
  const pipeline = await store.write(async (db) => {
    const { id } = await findTeamPipeline(db, team, input);
    const row = await lockPipeline(db, id);
    requireAllowed(action, row);
    const detail = await work({ db, now, actor, team, pipeline: row });
    await audit(db, actor, { action: `pipeline.${action}`, team, target: row.name, detail: detail ?? "" }, now);
    return pipelineDocument(db, await lockPipeline(db, id), frameOf(context, team));
  });
  signals.dispatch.wake();
  signals.observe.wake();
  for (const { created_job_id } of pipeline.job_runs) if (created_job_id) signals.jobChanged(created_job_id);
  return pipeline;
}

function requireAllowed(action: PipelineAction, { name, status, is_template }: PipelineRow): void {
  const allowed: readonly PipelineStatus[] = pipelineActions[action];
  if (allowed.includes(status)) return;
  const what = is_template === 1 ? "the template of a schedule, which never runs itself" : status;
  throw new ApiError(
    "wrong_state",
    `The pipeline ${name} is ${what}; ${action} is allowed only while it is ${allowed.join(" or ")}.`,
  );
}

export const pausePipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "pause", input, now }, ({ db, pipeline }) => pauseRuns(db, pipeline.id, now));

export const resumePipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "resume", input, now }, async ({ db, pipeline }) => {
    await requireRoomInQueue(db, call.team, context.quotas);
    await requireRoomForDatasets(db, call.team, context.quotas);
    await resumeRuns(db, pipeline, now);
    return undefined;
  });

/** What runs is ended, nothing begins. */
export const cancelPipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "cancel", input, now }, async ({ db, pipeline }) => {
    await cancelPipelineRuns(db, pipeline.id, now);
    return undefined;
  });

async function originalsOf(db: Db, pipeline: PipelineRow, runs: readonly RunState[]): Promise<ShortJob[]> {
  const ids = runs.map(({ job_id }) => job_id);
  const jobs = await getShortJobs(db, ids);
  const found = new Set(jobs.map(({ id }) => id));
  const gone = ids.find((id) => !found.has(id));
  if (gone) throw new ApiError("wrong_state", `It cannot run again: the job ${gone} is gone.`);
  return allInNameOf(db, pipeline, jobs);
}

type JobInPipeline = PipelineInput & { readonly job_id: string };

async function findRun(db: Db, pipeline: PipelineRow, jobId: string): Promise<RunState> {
  const id = jobId.trim().toLowerCase();
  const runs = await runsOf(db, pipeline.id);
  const run = runs.find((one) => one.created_job_id === id) ?? runs.find((one) => one.job_id === id);
  if (run) return run;
  throw new ApiError("not_found", `The pipeline ${pipeline.name} has no run of a job ${jobId}.`, { hint: "list_runs" });
}

/** Those that waited for it wait for its parents instead. */
export const removeJob = (context: JobsContext, call: Call, input: JobInPipeline, now: number) =>
  changePipeline(context, call, { action: "remove-job", input, now }, async ({ db, pipeline }) => {
    const run = await findRun(db, pipeline, input.job_id);
    const id = run.created_job_id as string;
    if ((await cancelDrafts(db, [id], now)) === 0)
      throw new ApiError(
        "wrong_state",
        `${run.name} (job ${id}) is ${run.status}; only a run that is PENDING can be removed.`,
      );
    await requireFewNeeds(db, pipeline, run);
    await deleteRun(db, run);
    await recount(db, pipeline, now);
    return `${run.name} (job ${id})`;
  });

/** Each child inherits each parent: of a run with very many of both, too many. */
async function requireFewNeeds(db: Db, { id }: PipelineRow, run: RunState): Promise<void> {
  const edges = await edgesOf(db, id);
  const above = edges.filter(({ job_id }) => job_id === run.job_id).length;
  const below = edges.filter(({ parent_job_id }) => parent_job_id === run.job_id).length;
  if (above * below === 0 || edges.length - above - below + above * below <= mostNeeds) return;
  throw new ApiError(
    "wrong_state",
    `${run.name} has ${above} parents and ${below} children: without it each of these would wait for each of those, and a pipeline has at most ${mostNeeds} such needs.`,
  );
}

/** How many parents each run waits for, and how many runs are open: from what is there. */
async function recount(db: Db, pipeline: PipelineRow, now: number): Promise<void> {
  const runs = await runsOf(db, pipeline.id);
  const parents = await parentsOf(db, pipeline.id);
  const done = new Set(runs.filter(isComplete).map(({ job_id }) => job_id));
  for (const run of runs) {
    const waits = (parents.get(run.job_id) ?? []).filter((parent) => !done.has(parent)).length;
    if (waits !== run.waits_for) await setWaitsFor(db, run, waits);
  }
  const open_runs = await setOpenRuns(db, pipeline.id, runs, now);
  await settle(db, { ...pipeline, open_runs }, now);
}

const isOver = ({ status }: RunState) => status === "FAILED" || status === "CANCELED";

/** Its end would fail a pipeline that runs again. */
function requireNoneEnding(runs: readonly RunState[]): void {
  const ending = runs.find(({ status }) => status === "CANCELING");
  if (!ending) return;
  throw new ApiError(
    "wrong_state",
    `${ending.name} (job ${ending.created_job_id}) is still being canceled. Try again when it is CANCELED.`,
  );
}

/** What failed or was canceled gets a new draft; what is complete stays as it is. */
export const rerunPipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "rerun", input, now }, async (edit) => {
    const runs = await runsOf(edit.db, edit.pipeline.id);
    requireNoneEnding(runs);
    await goOnWith(edit, context, runs.filter(isOver));
    return undefined;
  });

/** One run and nothing else: what came after it stays canceled, and is retried when it is wanted. */
export const retryJob = (context: JobsContext, call: Call, input: JobInPipeline, now: number) =>
  changePipeline(context, call, { action: "retry-job", input, now }, async (edit) => {
    const { db, pipeline } = edit;
    const run = await findRun(db, pipeline, input.job_id);
    const what = `${run.name} (job ${run.created_job_id})`;
    if (!isOver(run))
      throw new ApiError(
        "wrong_state",
        `${what} is ${run.status}; only a run that is FAILED or CANCELED can be retried.`,
      );
    const runs = await runsOf(db, pipeline.id);
    requireNoneEnding(runs);
    const parents = new Set((await parentsOf(db, pipeline.id)).get(run.job_id));
    const open = runs.find((one) => parents.has(one.job_id) && !isComplete(one));
    if (open)
      throw new ApiError(
        "wrong_state",
        `${what} needs what ${open.name} makes, which is ${open.status}. Retry that first, or rerun the pipeline, which retries all.`,
        { hint: "rerun_pipeline" },
      );
    await goOnWith(edit, context, [run]);
    return what;
  });

/** New drafts for these runs, in a pipeline that runs again. */
async function goOnWith(edit: PipelineEdit, { keys, quotas }: JobsContext, runs: readonly RunState[]): Promise<void> {
  const { db, now, team, pipeline } = edit;
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  const originals = await originalsOf(db, pipeline, runs);
  const why = await whyNot(db, originals);
  if (why !== undefined) throw new ApiError("wrong_state", `It cannot run again: ${why}`);
  const { ids: drafts, added } = await insertDrafts(edit, originals, draftFrame(keys, pipeline));
  await requireRoomForTexts(db, team, added, quotas);
  for (const run of runs) await replaceDraft(db, run, drafts.get(run.job_id) as string);
  const changes = { error_message: null, error_stack: null, finished_at: null, updated_at: iso(now) };
  if (pipeline.status !== "RUNNING")
    await movePipeline(db, { id: pipeline.id, from: ["FAILED", "CANCELED"], to: "RUNNING", changes });
  await recount(db, { ...pipeline, status: "RUNNING" }, now);
  await beginReady(db, await runsOf(db, pipeline.id));
}
