/** Creates, lists and cancels jobs, and creates the jobs of a task. */

import {
  ApiError,
  allows,
  invalid,
  isIn,
  type Job,
  type JobStatus,
  jobActions,
  jobStates,
  jobStatuses,
  type ListJobsQuery,
  roleIncludes,
  statusGroups,
} from "@millrace/contract";
import { usesLibrary } from "../../runtimes/uses-library.ts";
import type { Db } from "../../store/drivers/store.ts";
import { chainOfJob, insertJobChain } from "../../store/queries/jobs/chains.ts";
import { findByKey, takeKey } from "../../store/queries/jobs/idempotency-keys.ts";
import { type JobFilter, listJobs } from "../../store/queries/jobs/job-lists.ts";
import { moveJob } from "../../store/queries/jobs/job-moves.ts";
import { insertTags } from "../../store/queries/jobs/job-tags.ts";
import { findJob, getJob, getJobState, insertJob, type JobRow, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { enqueue } from "../../store/queries/jobs/queue.ts";
import { lockPipelinesOf } from "../../store/queries/pipelines/pipelines.ts";
import { deleteTask, insertTask } from "../../store/queries/schedules/tasks.ts";
import { BoundedList } from "../../turns/bounded-list.ts";
import { nextLook, nextStretch } from "../../turns/large-answers.ts";
import type { Signals } from "../../turns/signals.ts";
import { audit } from "../access/audit.ts";
import type { TeamCall } from "../access/call.ts";
import type { Transaction } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import {
  type DefaultQuotas,
  type DiskQuotas,
  requireRoomForDatasets,
  requireRoomForTexts,
  requireRoomInQueue,
} from "../access/quotas.ts";
import { cancelWaiting, endJob } from "../lifecycle/end-job.ts";
import { type Frame, type JobSpecFields, jobTextOf, jobTexts, readSpec } from "../lifecycle/job-documents.ts";
import { jobIdAt, newJobId } from "../lifecycle/job-ids.ts";
import { queueRow } from "../lifecycle/job-queue.ts";
import { type Moment, withMoment } from "../lifecycle/scheduled-moments.ts";
import { decryptEnvironment, encryptEnvironment } from "../secrets/encryption.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { nextTick, readTime } from "../time/ticks.ts";
import { findCluster } from "./clusters.ts";
import { attachFiles, readFileIds } from "./files.ts";
import { type Creation, type JobInputContext, newJob } from "./job-input.ts";
import { requireRoomForTask, type TaskQuotas } from "./task-quotas.ts";

/** Maximum number of jobs that one database query reads for a list. */
const listPart = 100;

export interface JobsContext extends JobInputContext {
  readonly signals: Signals;
  readonly quotas: DefaultQuotas & DiskQuotas & TaskQuotas;
  /** Returns the base URL of links to jobs, without a slash at the end. */
  readonly publicUrl: () => string;
}

/**
 * Creates a job and returns its JSON. If an earlier request with the same idempotency key has created a job, returns
 * that job instead.
 */
export async function createJob(context: JobsContext, creation: Creation, now: number): Promise<string> {
  const { store, signals, keys } = context;
  const { principal, team } = creation;
  const key = creation.idempotencyKey && { team_id: team.id, user_id: principal.userId, key: creation.idempotencyKey };
  const { row, spec, cluster, environment } = await newJob(context, creation, now);
  const firstRun = row.status === "TASK" ? firstFiring(spec, now) : undefined;
  const text = await store.write(async (db) => {
    // The answer is built in the same transaction: if that failed after the commit, the client would create a second
    // job.
    if (key && !(await takeKey(db, key, row.id))) {
      const first = await findByKey(db, key);
      return jobText(db, context, team, first?.job_id ?? row.id);
    }
    if (firstRun) await requireRoomForTask(db, team, context.quotas);
    else await requireRoomInQueue(db, team, context.quotas);
    if (usesLibrary(spec)) await requireRoomForDatasets(db, team, context.quotas);
    await attachFiles(db, team.id, readFileIds(spec.files), iso(now));
    const encrypted = await encryptEnvironment(db, keys, row.id, environment);
    const inserted = { ...row, environment: encrypted };
    const added = await insertJob(db, inserted);
    await requireRoomForTexts(db, team, added, context.quotas);
    await insertTags(db, team.id, row.id, spec.tags);
    const chain = principal.via.kind === "job" ? await chainOfJob(db, principal.via.jobId) : null;
    if (chain !== null) await insertJobChain(db, row.id, chain);
    if (firstRun) await insertTask(db, row, firstRun);
    else await enqueue(db, queueRow(row, spec));
    await audit(db, creation.actor, { action: "job.create", team, target: row.id, detail: row.name ?? "" }, now);
    const named = { username: principal.username, cluster };
    return jobTextOf(db, { ...inserted, cut: "" }, frameOf(context, team), named);
  });
  (firstRun ? signals.tasks : signals.dispatch).wake();
  return text ?? "null";
}

/** Returns the JSON of a job; undefined if the team has no job with this id. */
async function jobText(db: Db, context: JobsContext, team: Team, id: string): Promise<string | undefined> {
  const row = await findJob(db, team.id, id);
  return (await jobTexts(db, row ? [row] : [], frameOf(context, team)))[0];
}

const frameOf = (context: JobsContext, team: Team, includeSteps = false, many = false): Frame => ({
  publicUrl: context.publicUrl(),
  team: team.name,
  includeSteps,
  many,
  keys: context.keys,
  showsValues: roleIncludes(team.role, "editor"),
});

/**
 * Returns the time at which a task first fires. With a cron expression, this is the first tick that is not before
 * `start_after`; otherwise it is `start_after` itself.
 */
function firstFiring(spec: JobSpecFields, now: number): string {
  const start = spec.start_after ? Date.parse(spec.start_after) : now;
  if (!spec.cron_expression) return iso(start);
  return iso(nextTick(spec.cron_expression, spec.timezone ?? "UTC", Math.max(start - 1, now)) ?? start);
}

/**
 * Creates and enqueues the job for one tick of a task (a time at which the task is due). The task is the parent of the
 * job, and the job shares the task's long texts. The job remembers no access token: a task goes on after the token with
 * which it was created, until somebody removes it. Call this in the transaction that advances the task to its next tick.
 */
export async function fireTask({ db, now }: Transaction, keys: KeyRing, task: ShortJob, moment: Moment): Promise<void> {
  const id = newJobId(now);
  const { timezone: _, ...same } = readSpec(task);
  const spec: JobSpecFields = {
    ...withMoment(same, moment),
    id,
    created_at: iso(now),
    start_after: null,
    cron_expression: null,
    parent_job_id: task.id,
    rerun_from_job_id: null,
    run_group_id: id,
  };
  const { created_at, parent_job_id } = spec;
  // The environment is encrypted again, since a ciphertext is bound to the id of its row.
  const environment = await encryptEnvironment(db, keys, id, decryptEnvironment(keys, task.id, task.environment));
  const fixed = { spec: JSON.stringify(spec), environment, created_at, parent_job_id };
  const child: ShortJob = { ...task, id, origin_id: task.id, status: "CREATED", token_id: null, ...fixed };
  await insertJob(db, child);
  await insertTags(db, child.team_id, id, spec.tags);
  await enqueue(db, queueRow(child, spec));
}

const noJob = (team: Team, id: string) =>
  new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`, { hint: "list_jobs" });

export async function getTeamJob(context: JobsContext, team: Team, id: string): Promise<Job> {
  const text = await jobText(context.store.db, context, team, id);
  if (!text) throw noJob(team, id);
  return JSON.parse(text) as Job;
}

/** Throws if the team has no job with this id. Only the job's state is read, because a whole job may be large. */
export async function requireTeamJob({ store }: Pick<JobsContext, "store">, team: Team, id: string): Promise<void> {
  const job = await getJobState(store.db, id);
  if (job?.team_id !== team.id) throw noJob(team, id);
}

interface JobTexts {
  readonly jobs: string[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** Returns a page of jobs, newest first, as JSON texts. A query by job id returns that job in full. */
export async function searchTeamJobs(context: JobsContext, team: Team, query: ListJobsQuery): Promise<JobTexts> {
  const { db } = context.store;
  if (query.job_id === undefined) return listTeamJobs(context, team, query);
  const row = await findJob(db, team.id, query.job_id.toLowerCase());
  const frame = frameOf(context, team, query.include_steps);
  return { jobs: await jobTexts(db, row ? [row] : [], frame), next: undefined };
}

/** Default number of jobs on a page. */
const shortList = 20;

/**
 * Returns a page of jobs. The page has fewer than `limit` jobs if they exceed the size of one answer; `next` is then
 * the cursor of the next page.
 */
async function listTeamJobs(context: JobsContext, team: Team, query: ListJobsQuery): Promise<JobTexts> {
  const { db } = context.store;
  const filter = await readFilter(context, team, query);
  const frame = frameOf(context, team, query.include_steps, true);
  const jobs = new BoundedList();
  for (let { before } = filter; ; ) {
    const limit = Math.min(filter.limit - jobs.length, listPart);
    // Long lists take memory, so they first let other requests use the event loop.
    if (limit > shortList) await nextStretch();
    const { rows, next } = await listJobs(db, { ...filter, before, limit }, nextLook);
    const added = await jobs.addAll(await jobTexts(db, rows, frame));
    if (added < rows.length) return { jobs: jobs.texts, next: added === 0 ? before : rows[added - 1]?.id };
    before = next;
    const cutShort = rows.length < limit;
    if (before === undefined || cutShort || jobs.length >= filter.limit) return { jobs: jobs.texts, next: before };
  }
}

async function readFilter(context: JobsContext, team: Team, query: ListJobsQuery): Promise<JobFilter> {
  const time = (field: "created_after" | "created_before") => {
    const text = query[field];
    return text === undefined ? undefined : jobIdAt(Date.parse(readTime(text, context.timezone, field)));
  };
  const bounds = [query.cursor?.toLowerCase(), time("created_before")].filter((id) => id !== undefined);
  return {
    teamId: team.id,
    limit: query.limit ?? shortList,
    statuses: query.status && readStatuses(query.status),
    name: query.name,
    username: query.created_by,
    text: query.search,
    tags: query.tag,
    parentId: query.parent_job_id?.toLowerCase(),
    clusterId: query.cluster === undefined ? undefined : (await findCluster(context.store.db, query.cluster)).id,
    from: time("created_after"),
    before: bounds.sort()[0],
    withoutSteps: query.include_steps !== true,
  };
}

/**
 * Parses the `status` of a query: states and groups of states, as several values or separated by commas. Letter case is
 * ignored.
 */
function readStatuses(texts: readonly string[]): JobStatus[] {
  const names = texts.flatMap((text) => text.split(",")).map((name) => name.trim().toUpperCase());
  const found = names.flatMap((name) => {
    const group = statusGroups[name] ?? jobStatuses.filter((status) => status === name);
    if (group.length === 0) throw invalid("status", `ACTIVE, INACTIVE or one of ${jobStatuses.join(", ")}`, name);
    return group;
  });
  return [...new Set(found)];
}

/** Cancels a job. Returns a message that says whether the job is canceled or is still being stopped. */
export async function cancelJob(
  context: JobsContext,
  { actor, team }: TeamCall,
  id: string,
  now: number,
): Promise<string> {
  const { store, signals } = context;
  const status = await store.write(async (db) => {
    await lockPipelinesOf(db, [id]);
    const reached = await cancel(db, team, id, now);
    await audit(db, actor, { action: "job.cancel", team, target: id }, now);
    return reached;
  });
  signals.observe.wake();
  signals.jobChanged(id);
  return status === "CANCELED" ? `Job ${id} is canceled.` : `Job ${id} is being canceled.`;
}

/**
 * Cancels a job, and returns its new state. If another transaction changes the state meanwhile, tries again, at most
 * three times in all.
 */
async function cancel(db: Db, team: Team, id: string, now: number): Promise<JobStatus> {
  for (let tries = 1; ; tries++) {
    const job = await getJob(db, id);
    if (!job || job.team_id !== team.id) {
      throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`);
    }
    const status = await cancelFrom(db, job, now);
    if (status) return status;
    if (!allows("cancel", job.status) || tries === 3) {
      const allowed = jobActions.cancel.join(" or ");
      const isDraft = job.status === "PENDING";
      const draft = isDraft ? " The job is a draft: remove it from its paused pipeline instead." : "";
      throw new ApiError(
        "wrong_state",
        `Job ${id} is ${job.status}; only a job that is ${allowed} can be canceled.${draft}`,
        { hint: isDraft ? "remove_run" : undefined },
      );
    }
  }
}

/**
 * Cancels a job that is in state `status`, and returns its new state. Returns undefined if a job in this state cannot
 * be canceled, or if it has left this state.
 */
async function cancelFrom(db: Db, { id, status }: JobRow, now: number): Promise<JobStatus | undefined> {
  if (isIn("canceling", status)) return status;
  if (status === "TASK") {
    if (!(await deleteTask(db, id))) return undefined;
    await endJob(db, { id, from: ["TASK"], to: "CANCELED", changes: { finished_at: iso(now) } }, now);
    return "CANCELED";
  }
  // The queue comes first: once the job's row in it is deleted, no server can start the job.
  if (await cancelWaiting(db, id, now)) return "CANCELED";
  return (await moveJob(db, { id, from: jobStates.begun, to: "CANCELING" })) ? "CANCELING" : undefined;
}
