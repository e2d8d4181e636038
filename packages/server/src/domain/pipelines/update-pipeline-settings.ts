/**
 * Changes the settings of a pipeline. They apply to runs that have not begun and, if the pipeline is a template, to
 * later runs of its schedule or backfill.
 */
import {
  ApiError,
  invalid,
  isIn,
  jobStates,
  type Pipeline,
  roleIncludes,
  type UpdatePipelineSettingsInput,
} from "@millrace/contract";
import { checkLibrary } from "../../datachain/requirements.ts";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { getShortJobs, type Rewritten, rewriteJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { requeueAs } from "../../store/queries/jobs/queue.ts";
import { serviceAccountOf, usernameOf } from "../../store/queries/people/users.ts";
import { type PipelineRow, type RunState, runsOf, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import type { Call } from "../access/call.ts";
import { requirePerson } from "../access/principals.ts";
import { requireRoomForTexts } from "../access/quotas.ts";
import { resolveCluster } from "../jobs/clusters.ts";
import { attachFiles, readFileIds } from "../jobs/files.ts";
import { gatherCredentials, namesIn, requireCredentials, requireNamedByJob } from "../jobs/job-credentials.ts";
import { checkedEnvironment, checkRepository, checkVersion } from "../jobs/job-input.ts";
import { checkRequirements, checkTogether, tooLong } from "../jobs/job-limits.ts";
import type { JobsContext } from "../jobs/jobs.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { queueRow } from "../lifecycle/job-queue.ts";
import { allInNameOf } from "../lifecycle/run-as.ts";
import { momentOfPipeline } from "../lifecycle/scheduled-moments.ts";
import { decryptEnvironment, decryptPipelineEnvironment, encryptPipelineEnvironment } from "../secrets/encryption.ts";
import { parseEnvironment } from "../secrets/environment-text.ts";
import { iso } from "../time/clock.ts";
import { type ContentFrame, draftContent, mostDraftText } from "./pipeline-drafts.ts";
import { type PipelineSettings, readSettings } from "./pipeline-settings.ts";
import { changePipeline, type PipelineEdit, rememberToken } from "./pipelines.ts";

/** Number of jobs that are rewritten before other work gets the event loop. */
const atOnce = 100;

/** A run with its state, and the job that it repeats (`original`). */
export interface Repeated {
  readonly run: RunState;
  readonly original: ShortJob;
}

export function updateSettings(
  context: JobsContext,
  call: Call,
  input: UpdatePipelineSettingsInput,
  now: number,
): Promise<Pipeline> {
  const { keys } = context;
  const selector = { name: input.pipeline_name ?? null, pipeline_id: input.pipeline_id ?? null };
  return changePipeline(context, call, { action: "settings", input: selector, now }, async (edit) => {
    const { db, pipeline } = edit;
    if (pipeline.is_template === 1)
      requirePerson(call.principal, "change what a schedule runs: the change would remain after this job has ended");
    const repeated = await runsWithOriginals(db, pipeline);
    if (bringsCode(input)) await requireOwnRuns(db, call, repeated);
    const settings = await readChanges(edit, context, input, repeated);
    if (bringsCode(input)) await requireNamedByJob(db, call.principal, credentialsOfRuns(settings, repeated));
    const environment =
      input.environment == null
        ? decryptPipelineEnvironment(keys, pipeline.id, pipeline.environment)
        : checkedEnvironment(input.environment);
    const variables = parseEnvironment(environment);
    const frame = { keys, pipelineId: pipeline.id, settings, variables, moment: momentOfPipeline(pipeline) };
    if (input.environment != null || input.credentials_names != null)
      await requireRoomForVariables(db, repeated, frame);
    requireShortDrafts(repeated, Buffer.byteLength(JSON.stringify(settings)) + Buffer.byteLength(environment));
    const added = await rewriteDrafts(db, repeated, frame);
    if (bringsCode(input)) await rememberToken(edit);
    await requireRoomForTexts(db, call.team, added, context.quotas);
    await updatePipeline(db, pipeline.id, {
      settings: JSON.stringify(settings),
      environment: await encryptPipelineEnvironment(db, keys, pipeline.id, environment),
      updated_at: iso(now),
    });
    return changedFields(input).join(", ");
  });
}

/** Returns the names of all credentials that the runs have with these settings. */
const credentialsOfRuns = ({ credentials_names: names }: PipelineSettings, repeated: readonly Repeated[]): string[] => [
  ...new Set(names ?? repeated.flatMap(({ original }) => namesIn(readSpec(original)))),
];

const changedFields = ({
  team_name: _team,
  pipeline_name: _name,
  pipeline_id: _id,
  ...settings
}: UpdatePipelineSettingsInput) =>
  Object.entries(settings)
    .filter(([, value]) => value != null)
    .map(([name]) => name);

/** Returns the runs of a pipeline, each with the job that it repeats and the user whose rights the run has. */
export async function runsWithOriginals(db: Db, pipeline: PipelineRow): Promise<Repeated[]> {
  const runs = await runsOf(db, pipeline.id);
  const originals = await getShortJobs(
    db,
    runs.map(({ job_id }) => job_id),
  );
  const repeated = await allInNameOf(db, pipeline, originals);
  const byId = new Map(repeated.map((original) => [original.id, original]));
  return runs.flatMap((run) => {
    const original = byId.get(run.job_id);
    return original ? { run, original } : [];
  });
}

/** Returns the new settings, checked like the fields of a job. An empty text or list removes a setting. */
async function readChanges(
  { db, now, team, pipeline }: PipelineEdit,
  { jobPaths }: JobsContext,
  input: UpdatePipelineSettingsInput,
  repeated: readonly Repeated[],
): Promise<PipelineSettings> {
  const before = readSettings(pipeline);
  const changed = <T>(given: unknown, old: T, read: () => T): T => (given == null ? old : read());
  const workers = changed(input.workers, before.workers, () => Math.max(1, input.workers ?? 1));
  const credentials_names = changed(input.credentials_names, before.credentials_names, () =>
    nonEmpty(input.credentials_names?.map((name) => name.trim()) ?? []),
  );
  const files = changed(input.files, before.files, () => nonEmpty(readFileIds(input.files ?? []).map(String)));
  if (input.workers != null && workers !== null) await checkWidth(db, workers, repeated);
  if (input.credentials_names != null) await checkCredentials(db, credentials_names ?? [], repeated);
  if (input.files != null) await attachFiles(db, team.id, (files ?? []).map(Number), iso(now));
  return {
    python_version: changed(input.python_version, before.python_version, () =>
      checkVersion(input.python_version?.trim()),
    ),
    requirements: changed(input.requirements, before.requirements, () =>
      checkLibrary(checkRequirements(input.requirements?.trim() || null)),
    ),
    repository: changed(input.repository, before.repository, () => checkRepository(input.repository, jobPaths)),
    workers,
    priority: input.priority ?? before.priority,
    files,
    credentials_names,
    reuse_listings: input.reuse_listings ?? before.reuse_listings,
    timeout: input.timeout ?? before.timeout,
    retries: input.retries ?? before.retries,
    retry_delay: input.retry_delay ?? before.retry_delay,
  };
}

const nonEmpty = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list);

/** Throws if one of the runs has a cluster with fewer slots than `workers`. */
async function checkWidth(db: Db, workers: number, repeated: readonly Repeated[]): Promise<void> {
  const teams = new Map(repeated.map(({ original }) => [original.cluster_id, original.team_id]));
  for (const [compute_cluster_id, team] of teams) await resolveCluster(db, team, { compute_cluster_id }, workers);
}

/**
 * Throws if the owner of any run may not use one of these credentials. Each run reads its credentials with its owner's
 * rights.
 */
async function checkCredentials(db: Db, names: readonly string[], repeated: readonly Repeated[]): Promise<void> {
  if (names.includes(""))
    throw invalid("credentials_names", "a list of names that are not empty (an empty list removes the setting)", "");
  const holders = new Map(repeated.map(({ original }) => [original.user_id, original]));
  for (const holder of holders.values()) await requireCredentials(db, holder, names, "credentials_names");
}

/**
 * Throws if the variables of a run and of its credentials are too large together. The check is repeated when the run
 * begins.
 */
async function requireRoomForVariables(
  db: Db,
  repeated: readonly Repeated[],
  { keys, settings, variables }: ContentFrame,
): Promise<void> {
  const given = new Map<number, Readonly<Record<string, string>>>();
  const check = async (part: readonly Repeated[]) => {
    for (const { original } of part) {
      const { id, user_id, environment } = original;
      const gather = () => gatherCredentials(db, keys, original, settings.credentials_names ?? []);
      const known = given.get(user_id) ?? (await gather()).variables;
      given.set(user_id, known);
      const own = parseEnvironment(decryptEnvironment(keys, id, environment));
      checkTogether({ ...known, ...own, ...variables }, "environment and credentials_names");
    }
  };
  await eachPart(repeated, check, atOnce);
}

/**
 * Throws if the drafts (jobs that have not begun) of a pipeline are too large in total. Each draft has its own copy of
 * the settings; `added` is the size of one copy in bytes.
 */
function requireShortDrafts(repeated: readonly Repeated[], added: number): void {
  const lengthOf = ({ original: { spec, environment } }: Repeated) =>
    Buffer.byteLength(spec) + Buffer.byteLength(environment);
  const own = repeated.reduce((sum, one) => sum + lengthOf(one), 0);
  const text = own + added * repeated.length;
  if (text <= mostDraftText || added * repeated.length <= own) return;
  const most = `${mostDraftText} bytes together with the scripts of all ${repeated.length} runs (each run gets a copy)`;
  throw tooLong("requirements and environment", most, text, "Attach long values as files.");
}

/**
 * Returns whether the input adds code or data to runs. A Python version, a number of workers or a limit does not count.
 */
const bringsCode = (input: UpdatePipelineSettingsInput) =>
  [input.requirements, input.repository, input.environment, input.files, input.credentials_names].some(
    (value) => value != null,
  );

/**
 * Throws if a run belongs to another user. A run gets a token with the rights of its owner, so nobody else may add code
 * to the run. Admins of the team may add code to runs of the service account, but not with the token of a job.
 */
async function requireOwnRuns(db: Db, { principal, team }: Call, repeated: readonly Repeated[]): Promise<void> {
  const isAdmin = roleIncludes(team.role, "admin") && principal.via.kind !== "job";
  const service = isAdmin ? await serviceAccountOf(db, team.id) : undefined;
  const other = repeated.find(
    ({ original }) => original.user_id !== principal.userId && original.user_id !== service?.id,
  );
  if (!other) return;
  const owner = await usernameOf(db, other.original.user_id);
  throw new ApiError(
    "forbidden",
    `The run ${other.run.name} belongs to ${owner} and runs with ${owner}'s rights. Only a user who owns all runs of a pipeline may change its requirements, repository, environment, files or credentials. Remove this run from the pipeline first, or ask ${owner} to create a pipeline for it with these settings.`,
  );
}

/**
 * Rewrites jobs that have not begun with the new settings. Returns the bytes of texts that were added to the store. The
 * queue rows of waiting jobs are locked, so that none of these jobs starts meanwhile. Jobs that have begun are not
 * changed. Jobs that wait for a retry are not changed either, because their current secrets are needed to mask the log
 * of the earlier attempt.
 */
async function rewriteDrafts(db: Db, repeated: readonly Repeated[], frame: ContentFrame): Promise<number> {
  let added = 0;
  const rewrite = async (part: readonly Repeated[]) => {
    const drafts = await redraft(db, part, frame);
    const held = await holdWaiting(db, drafts);
    const fresh = drafts
      .filter(({ place, isWaiting }) => !isWaiting || held.has(place.job_id))
      .map(({ content }) => content);
    added += (await rewriteJobs(db, fresh, [...jobStates.draft, ...jobStates.waiting])).added;
  };
  await eachPart(repeated.filter(isRewritable), rewrite, atOnce);
  return added;
}

const isRewritable = ({ run: { created_job_id, status } }: Repeated) =>
  created_job_id !== null && (isIn("draft", status) || isIn("waiting", status));

/** A job that has not begun, with its new content and its new row in the queue. */
interface Redrafted {
  readonly content: Rewritten;
  readonly place: ReturnType<typeof queueRow>;
  readonly isWaiting: boolean;
}

/** Returns the new contents of the jobs that have not begun. Leaves out jobs that wait for a retry. */
async function redraft(db: Db, repeated: readonly Repeated[], frame: ContentFrame): Promise<Redrafted[]> {
  const ids = repeated.flatMap(({ run }) => run.created_job_id ?? []);
  const found = new Map((await getShortJobs(db, ids)).map((job) => [job.id, job]));
  const redrafted: Redrafted[] = [];
  for (const { run, original } of repeated) {
    const draft = found.get(run.created_job_id ?? "");
    if (!draft || draft.retried > 0) continue;
    const { spec, texts, environment } = await draftContent(db, original, draft, frame);
    const content = { id: draft.id, spec: JSON.stringify(spec), texts, environment };
    redrafted.push({ content, place: queueRow(draft, spec), isWaiting: isIn("waiting", run.status) });
  }
  return redrafted;
}

/**
 * Updates the queue rows of waiting jobs. Returns the ids of the jobs that are still in the queue. The queue rows of
 * these jobs stay locked, so that no job starts before the transaction ends.
 */
async function holdWaiting(db: Db, drafts: readonly Redrafted[]): Promise<ReadonlySet<string>> {
  const places = drafts.filter(({ isWaiting }) => isWaiting).map(({ place }) => place);
  const held = new Set<string>();
  for (const [first, ...others] of Map.groupBy(places, ({ priority, slots }) => `${priority} ${slots}`).values()) {
    if (!first) continue;
    const ids = [first, ...others].map(({ job_id }) => job_id);
    const { priority, slots } = first;
    for (const id of await requeueAs(db, ids, { priority, slots })) held.add(id);
  }
  return held;
}
