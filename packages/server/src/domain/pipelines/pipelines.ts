/** Pipelines: the rules for triggering, reading, pausing, resuming, canceling and rerunning them. */
import {
  ApiError,
  invalid,
  jobStates,
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
import { eachPart } from "../../store/queries/batches.ts";
import { chainOfJob } from "../../store/queries/jobs/chains.ts";
import { getShortJobs, type ShortJob, setTokenOfJobs } from "../../store/queries/jobs/jobs.ts";
import { listPipelines } from "../../store/queries/pipelines/pipeline-lists.ts";
import {
  countEdges,
  countEndedRun,
  deleteRun,
  findPipeline,
  findRun,
  getPipeline,
  lockPipeline,
  movePipeline,
  type PipelineRow,
  type RunState,
  replaceDrafts,
  runsOf,
  setWaitsFor,
  updatePipeline,
} from "../../store/queries/pipelines/pipelines.ts";
import { BoundedList } from "../../turns/bounded-list.ts";
import { nextLook, nextStretch } from "../../turns/large-answers.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import { requireLiveCreator, type Team, tokenToRemember } from "../access/principals.ts";
import { requireRoomForDatasets, requireRoomForTexts, requireRoomInQueue } from "../access/quotas.ts";
import { readChain, writeChain } from "../datasets/version-notices.ts";
import type { JobsContext } from "../jobs/jobs.ts";
import { cancelDrafts, cancelPipelineRuns } from "../lifecycle/end-job.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { beginDrafts, isComplete, jobsOfRuns, setOpenRuns, settle } from "../lifecycle/pipeline-progress.ts";
import { allInNameOf } from "../lifecycle/run-as.ts";
import { iso } from "../time/clock.ts";
import { draftFrame, insertNamed, insertRunsWithDrafts } from "./new-pipeline.ts";
import { listedPipelineDocument, type PipelineFrame, parentsOf, pipelineDocument } from "./pipeline-documents.ts";
import { insertDrafts } from "./pipeline-drafts.ts";
import { mostNeeds } from "./pipeline-graph.ts";
import { beginReady, pauseRuns, resumeRuns } from "./pipeline-pauses.ts";
import { noSettings } from "./pipeline-settings.ts";
import { findSources, type Sources, whyNotRepeatable } from "./pipeline-sources.ts";

const frameOf = ({ keys }: JobsContext, team: Team): PipelineFrame => ({
  keys,
  showsValues: roleIncludes(team.role, "editor"),
});

/**
 * Creates a pipeline that rebuilds datasets. The pipeline begins at once, unless the caller wants to review it first:
 * then it is created as PAUSED.
 */
export async function triggerPipeline(
  context: JobsContext,
  call: Call,
  input: TriggerPipelineInput,
  now: number,
): Promise<Pipeline> {
  const { store, keys, signals } = context;
  const { team, principal, actor } = call;
  requireLiveCreator(principal);
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
    const { ready, added } = await insertRunsWithDrafts({ db, now }, keys, row, {
      ...sources,
      tokenId: tokenToRemember(principal),
    });
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

/**
 * Finds a pipeline by name or id. Throws if the input has neither, or if its name and id belong to different pipelines.
 */
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
    throw invalid(
      "the pipeline's name and pipeline_id",
      `values of the same pipeline (the pipeline ${id} has the name ${row.name})`,
      name,
    );
  return row;
}

export async function readPipeline(context: JobsContext, team: Team, input: PipelineInput): Promise<Pipeline> {
  const { db } = context.store;
  const row = await findTeamPipeline(db, team, input);
  await nextLook();
  return pipelineDocument(db, row, frameOf(context, team));
}

/**
 * A page of pipelines ends once its pipelines have this many runs. It also ends once they have `mostNeeds`
 * dependencies.
 */
const mostListedRuns = 20_000;
/** Maximum number of pipelines that one database query reads for a list. */
const listPart = 50;
/** While a list is built, other work gets the event loop each time this many runs were added. */
const stretchRuns = 200;

interface PipelineTexts {
  readonly pipelines: readonly string[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/**
 * Returns a page of pipelines, newest first, as JSON texts. If the pipelines are large, the page has fewer than `limit`
 * pipelines.
 */
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
  // The first pipeline waits as well, so that nothing is built for clients that disconnect at once.
  let stretch = stretchRuns;
  for (let before = cursor?.toLowerCase(); ; ) {
    const part = Math.min(listPart, limit - list.length);
    const { rows, next } = await listPipelines(db, { ...filter, before, limit: part }, nextLook);
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
    // A search that has looked at many pipelines ends with what it found.
    if (next === undefined || rows.length < part || list.length >= limit) return { pipelines: list.texts, next };
    before = next;
  }
}

/** Parses states of pipelines. Letter case is ignored; values may be repeated or separated by commas. */
function readStatuses(texts: readonly string[]): PipelineStatus[] | undefined {
  const names = texts.flatMap((text) => text.split(",")).map((name) => name.trim().toUpperCase());
  const found = names.map((name) => {
    const known = pipelineStatuses.find((status) => status === name);
    if (!known) throw invalid("status", `one of ${pipelineStatuses.join(", ")}`, name);
    return known;
  });
  return found.length === 0 ? undefined : [...new Set(found)];
}

/** A request to change a pipeline. */
interface PipelineChange {
  readonly action: PipelineAction;
  /** Name or id of the pipeline. */
  readonly input: PipelineInput;
  readonly now: number;
}

/** A transaction that has locked the pipeline that it changes. */
export interface PipelineEdit extends Edit {
  readonly team: Team;
  readonly pipeline: PipelineRow;
  /** Id of the access token that runs remember if this change starts them or brings code into them. */
  readonly tokenId: number | null;
}

/** Makes the change. Returns the detail for the audit log; undefined if there is none. */
type Work = (edit: PipelineEdit) => Promise<string | undefined>;

/** Locks a pipeline, checks that its state allows the action, does the work, and writes the audit log. */
export async function changePipeline(
  context: JobsContext,
  { principal, actor, team }: Call,
  { action, input, now }: PipelineChange,
  work: Work,
): Promise<Pipeline> {
  const { store, signals } = context;
  if (action === "settings" || startsRuns.has(action)) requireLiveCreator(principal);
  const tokenId = tokenToRemember(principal);
  const pipeline = await store.write(async (db) => {
    const { id } = await findTeamPipeline(db, team, input);
    const row = await lockPipeline(db, id);
    requireAllowed(action, row);
    if (principal.via.kind === "job" && startsRuns.has(action)) await joinChain(db, row, principal.via.jobId);
    const detail = await work({ db, now, actor, team, pipeline: row, tokenId });
    await audit(db, actor, { action: `pipeline.${action}`, team, target: row.name, detail: detail ?? "" }, now);
    return pipelineDocument(db, await lockPipeline(db, id), frameOf(context, team));
  });
  signals.dispatch.wake();
  signals.observe.wake();
  for (const { created_job_id } of pipeline.job_runs) if (created_job_id) signals.jobChanged(created_job_id);
  return pipeline;
}

/** Actions after which runs of the pipeline start. */
const startsRuns: ReadonlySet<PipelineAction> = new Set(["resume", "rerun", "retry-job"]);

/**
 * Adds the schedules that led to a job to those that led to the pipeline, because the job starts runs of the pipeline.
 * Otherwise a schedule could fire itself through a pipeline that its run starts again.
 */
async function joinChain(db: Db, { id, chain }: PipelineRow, jobId: string): Promise<void> {
  const ledTo = await chainOfJob(db, jobId);
  if (ledTo !== null) await updatePipeline(db, id, { chain: writeChain([...readChain(chain), ...readChain(ledTo)]) });
}

/**
 * Sets the access token that the pipeline's runs remember, for runs that have not begun. The last caller who resumed
 * them, took them over or brought code into them answers for what they do.
 */
export async function rememberToken({ db, pipeline, tokenId }: PipelineEdit): Promise<void> {
  const runs = await runsOf(db, pipeline.id);
  const ids = [...jobsOfRuns(runs, "draft"), ...jobsOfRuns(runs, "waiting")];
  await eachPart(ids, (part) => setTokenOfJobs(db, part, tokenId, [...jobStates.draft, ...jobStates.waiting]));
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
  changePipeline(context, call, { action: "resume", input, now }, async (edit) => {
    const { db, pipeline } = edit;
    await requireRoomInQueue(db, call.team, context.quotas);
    await requireRoomForDatasets(db, call.team, context.quotas);
    await rememberToken(edit);
    await resumeRuns(db, pipeline, now);
    return undefined;
  });

/** Cancels a pipeline: stops the runs that have begun, and cancels the others. */
export const cancelPipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "cancel", input, now }, async ({ db, pipeline }) => {
    await cancelPipelineRuns(db, pipeline.id, now);
    return undefined;
  });

/**
 * Returns the jobs that these runs repeat, each with the user whose rights the run would have now. Throws if one of the
 * jobs no longer exists.
 */
async function originalsOf(db: Db, pipeline: PipelineRow, runs: readonly RunState[]): Promise<ShortJob[]> {
  const ids = runs.map(({ job_id }) => job_id);
  const jobs = await getShortJobs(db, ids);
  const found = new Set(jobs.map(({ id }) => id));
  const gone = ids.find((id) => !found.has(id));
  if (gone)
    throw new ApiError(
      "wrong_state",
      `The pipeline ${pipeline.name} cannot run again: it repeats the job ${gone}, which no longer exists. Trigger a new pipeline.`,
    );
  return allInNameOf(db, pipeline, jobs);
}

type JobInPipeline = PipelineInput & { readonly job_id: string };

/** Finds a run by the id of its own job or of the job that it repeats. Throws if there is none. */
async function requireRun(db: Db, pipeline: PipelineRow, jobId: string): Promise<RunState> {
  const run = await findRun(db, pipeline.id, jobId.trim().toLowerCase());
  if (run) return run;
  throw new ApiError("not_found", `The pipeline ${pipeline.name} has no run of a job ${jobId}.`, { hint: "list_runs" });
}

/**
 * Removes a run that has not begun from a paused pipeline. Runs that waited for this run wait for its parents instead.
 */
export const removeJob = (context: JobsContext, call: Call, input: JobInPipeline, now: number) =>
  changePipeline(context, call, { action: "remove-job", input, now }, async ({ db, pipeline }) => {
    const run = await requireRun(db, pipeline, input.job_id);
    const id = run.created_job_id as string;
    if ((await cancelDrafts(db, [id], now)) === 0)
      throw new ApiError(
        "wrong_state",
        `${run.name} (job ${id}) is ${run.status}; only a run that is PENDING can be removed.`,
      );
    await requireFewNeeds(db, run);
    await deleteRun(db, run);
    const counted = await countEndedRun(db, pipeline.id, iso(now));
    if (counted) await settle(db, counted, now);
    return `${run.name} (job ${id})`;
  });

/**
 * Throws if the pipeline would have too many dependencies after a run is removed. Each child of the removed run then
 * depends on each parent of that run.
 */
async function requireFewNeeds(db: Db, run: RunState): Promise<void> {
  const { all, above, below } = await countEdges(db, run);
  if (above * below === 0 || all - above - below + above * below <= mostNeeds) return;
  throw new ApiError(
    "wrong_state",
    `${run.name} cannot be removed: each of its ${below} children would have to wait for each of its ${above} parents, and a pipeline has at most ${mostNeeds} dependencies.`,
  );
}

/**
 * Recomputes two stored counts: for each run, its parents that are not complete, and for the pipeline, its runs that
 * have not ended. Ends the pipeline if all its runs have ended.
 */
async function recount(db: Db, pipeline: PipelineRow, now: number): Promise<void> {
  const runs = await runsOf(db, pipeline.id);
  const parents = await parentsOf(db, pipeline.id);
  const done = new Set(runs.filter(isComplete).map(({ job_id }) => job_id));
  const waitsOf = ({ job_id }: RunState) => (parents.get(job_id) ?? []).filter((parent) => !done.has(parent)).length;
  const changed = runs.filter((run) => waitsOf(run) !== run.waits_for);
  await setWaitsFor(db, pipeline.id, new Map(changed.map((run) => [run.job_id, waitsOf(run)])));
  const open_runs = await setOpenRuns(db, pipeline.id, runs, now);
  await settle(db, { ...pipeline, open_runs }, now);
}

const isOver = ({ status }: RunState) => status === "FAILED" || status === "CANCELED";

/** Throws if a run is still being canceled, because the end of that run would fail the restarted pipeline. */
function requireNoneEnding(runs: readonly RunState[]): void {
  const ending = runs.find(({ status }) => status === "CANCELING");
  if (!ending) return;
  throw new ApiError(
    "wrong_state",
    `The pipeline cannot run again yet: ${ending.name} (job ${ending.created_job_id}) is still being canceled. Try again when it is CANCELED.`,
  );
}

/** Restarts a pipeline. Failed and canceled runs get new jobs; complete runs are not repeated. */
export const rerunPipeline = (context: JobsContext, call: Call, input: PipelineInput, now: number) =>
  changePipeline(context, call, { action: "rerun", input, now }, async (edit) => {
    const runs = await runsOf(edit.db, edit.pipeline.id);
    requireNoneEnding(runs);
    await restartRuns(edit, context, runs.filter(isOver));
    return undefined;
  });

/** Restarts a single run. Runs that depend on this run stay canceled until they are retried as well. */
export const retryJob = (context: JobsContext, call: Call, input: JobInPipeline, now: number) =>
  changePipeline(context, call, { action: "retry-job", input, now }, async (edit) => {
    const { db, pipeline } = edit;
    const run = await requireRun(db, pipeline, input.job_id);
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
        `${what} needs the result of ${open.name}, which is ${open.status}. Retry that run first, or rerun the pipeline, which retries all failed and canceled runs.`,
        { hint: "rerun_pipeline" },
      );
    await restartRuns(edit, context, [run]);
    return what;
  });

/** Sets the pipeline to RUNNING, with new jobs for these runs. */
async function restartRuns(
  edit: PipelineEdit,
  { keys, quotas }: JobsContext,
  runs: readonly RunState[],
): Promise<void> {
  const { db, now, team, pipeline, tokenId } = edit;
  await requireRoomInQueue(db, team, quotas);
  await requireRoomForDatasets(db, team, quotas);
  const originals = await originalsOf(db, pipeline, runs);
  const why = await whyNotRepeatable(db, originals);
  if (why !== undefined)
    throw new ApiError(
      "wrong_state",
      `The pipeline ${pipeline.name} cannot run again: ${why} Create the datasets of this job with a new job, then trigger a new pipeline.`,
    );
  const { ids: drafts, added } = await insertDrafts(edit, originals, draftFrame(keys, pipeline, tokenId));
  await requireRoomForTexts(db, team, added, quotas);
  await replaceDrafts(db, pipeline.id, drafts);
  const changes = { error_message: null, error_stack: null, finished_at: null, updated_at: iso(now) };
  if (pipeline.status !== "RUNNING")
    await movePipeline(db, { id: pipeline.id, from: ["FAILED", "CANCELED"], to: "RUNNING", changes });
  await recount(db, { ...pipeline, status: "RUNNING" }, now);
  await beginReady(db, await runsOf(db, pipeline.id));
}
