/** Jobs: the rules for creating, listing, cancelling and firing them. */

import { normalize } from "node:path";
import {
  ApiError,
  invalid,
  type Job,
  type JobInput,
  type JobStatus,
  jobActions,
  jobStatuses,
  type ListJobsQuery,
  statusGroups,
} from "@millrace/contract";
import type { ClusterRow } from "../store/clusters.ts";
import { findByKey, takeKey } from "../store/idempotency-keys.ts";
import { findJob, getJob, insertJob, type JobRow, listJobs, moveJob, type ShownJob } from "../store/jobs.ts";
import { dequeue, enqueue } from "../store/queue.ts";
import type { Db, Store } from "../store/store.ts";
import { deleteTask, insertTask } from "../store/tasks.ts";
import { iso } from "./clock.ts";
import { resolveCluster } from "./clusters.ts";
import { readEnvironment } from "./environment-text.ts";
import { attachFiles, readFileIds } from "./files.ts";
import { type JobSpecFields, jobTexts, readSpec } from "./job-documents.ts";
import { newJobId } from "./job-ids.ts";
import type { Principal, Team } from "./principals.ts";
import { readScriptMetadata } from "./script-metadata.ts";
import type { Signals } from "./signals.ts";
import { checkCron, nextTick, readTime } from "./ticks.ts";

export interface JobsContext {
  readonly store: Store;
  readonly signals: Signals;
  readonly timezone: string;
  /** Host folders that jobs may use: file:// repositories lie below one. */
  readonly jobPaths: readonly string[];
  /** Without a slash at the end. */
  readonly publicUrl: () => string;
}

export interface Creation {
  readonly principal: Principal;
  readonly team: Team;
  readonly input: JobInput;
  readonly idempotencyKey: string | undefined;
}

export async function createJob(context: JobsContext, creation: Creation, now: number): Promise<Job> {
  const { store, signals } = context;
  const { principal, team } = creation;
  const key = creation.idempotencyKey && { team_id: team.id, user_id: principal.userId, key: creation.idempotencyKey };
  const { row, spec } = await newJob(context, creation, now);
  const firstRun = row.status === "TASK" ? firstFiring(spec, now) : undefined;
  const id = await store.write(async (db) => {
    if (key && !(await takeKey(db, key, row.id))) return (await findByKey(db, key))?.job_id ?? row.id;
    await attachFiles(db, team.id, readFileIds(spec.files), iso(now));
    await insertJob(db, row);
    if (firstRun) await insertTask(db, row.id, firstRun);
    else await enqueue(db, queueRow(row, spec));
    return row.id;
  });
  (firstRun ? signals.tasks : signals.dispatch).wake();
  return getTeamJob(context, team, id);
}

async function newJob(context: JobsContext, { principal, team, input }: Creation, now: number) {
  if (input.query_type === "TYPESCRIPT") {
    throw invalid("query_type", "PYTHON or SHELL: TYPESCRIPT comes in a later version", input.query_type);
  }
  if (input.credentials_name) {
    throw invalid(
      "credentials_name",
      "a set of credentials of this team; there is none by that name",
      input.credentials_name,
    );
  }
  const found = input.query_type === "PYTHON" ? readScriptMetadata(input.query) : {};
  const workers = Math.max(1, input.workers ?? found.workers ?? 1);
  const cluster = await resolveCluster(context.store.db, input, workers);
  const { startAfter, cron } = readTimes(input, context.timezone);
  const id = newJobId(now);
  readEnvironment(input.environment ?? "");
  const spec: JobSpecFields = {
    id,
    name: input.query_name || null,
    created_at: iso(now),
    query: input.query,
    query_type: input.query_type,
    workers,
    python_version: input.python_version?.trim() || found.pythonVersion || null,
    requirements: input.requirements?.trim() || found.requirements || null,
    repository: checkRepository(input.repository, context.jobPaths),
    files: readFileIds(input.files ?? []).map(String),
    priority: input.priority ?? 5,
    compute_cluster_id: cluster.id,
    credentials_name: null,
    start_after: startAfter,
    cron_expression: cron,
    reset: input.reset ?? false,
    params: input.params ?? found.params ?? {},
    parent_job_id: null,
    ...(await rerunOf(context.store.db, team, input.rerun_from_job_id, id)),
  };
  return { spec, row: newRow({ team, principal, cluster, environment: input.environment ?? "", spec }) };
}

interface NewJob {
  readonly team: Team;
  readonly principal: Principal;
  readonly cluster: ClusterRow;
  readonly environment: string;
  readonly spec: JobSpecFields;
}

const newRow = ({ team, principal, cluster, environment, spec }: NewJob): JobRow => ({
  id: spec.id,
  team_id: team.id,
  user_id: principal.userId,
  cluster_id: cluster.id,
  name: spec.name,
  status: spec.start_after || spec.cron_expression ? "TASK" : "CREATED",
  attempt: 0,
  spec: JSON.stringify(spec),
  environment,
  metrics: "{}",
  exit_code: null,
  error_message: null,
  error_stack: null,
  steps: null,
  parent_job_id: spec.parent_job_id,
  created_at: spec.created_at,
  started_at: null,
  finished_at: null,
});

function readTimes(input: JobInput, timezone: string) {
  const startAfter = input.start_after ? readTime(input.start_after, timezone, "start_after") : null;
  const cron = input.cron_expression?.trim() ? checkCron(input.cron_expression) : null;
  return { startAfter, cron };
}

/** The client sends the last job of the same script, of whatever server: an id that is not ours says nothing. */
async function rerunOf(db: Db, team: Team, sourceId: string | null | undefined, ownId: string) {
  const source = sourceId ? await getJob(db, sourceId) : undefined;
  if (!source || source.team_id !== team.id) return { rerun_from_job_id: null, run_group_id: ownId };
  return { rerun_from_job_id: source.id, run_group_id: readSpec(source).run_group_id };
}

/** A URL or scp-like address that git understands, and nothing that it would take for an option. */
function checkRepository(text: string | null | undefined, jobPaths: readonly string[]): string | null {
  const repository = text?.trim();
  if (!repository) return null;
  const known = /^(https?|ssh|git|file):\/\/[^\s]+$/i.test(repository) || /^[\w.-]+@[\w.-]+:[^\s]+$/.test(repository);
  if (!known)
    throw invalid(
      "repository",
      "a git URL (https, ssh, git, file) or git@host:path, optionally with @revision",
      repository,
    );
  if (/@-[^/]*$/.test(repository))
    throw invalid("repository", "a revision that does not begin with a hyphen", repository);
  const local = /^file:\/\/[^/]*(\/.*)$/i.exec(repository)?.[1];
  if (local && !jobPaths.some((path) => normalize(local).startsWith(`${path}/`))) {
    throw invalid(
      "repository",
      "a file:// URL below a folder that the operator lists in MILLRACE_JOB_PATHS",
      repository,
    );
  }
  return repository;
}

/** A cron task first fires at a tick, not before start_after; a task without cron fires once, at start_after. */
function firstFiring(spec: JobSpecFields, now: number): string {
  const start = spec.start_after ? Date.parse(spec.start_after) : now;
  if (!spec.cron_expression) return iso(start);
  return iso(nextTick(spec.cron_expression, Math.max(start - 1, now)) ?? start);
}

/** How a job waits. */
export const queueRow = (row: JobRow, spec: JobSpecFields) => ({
  job_id: row.id,
  cluster_id: row.cluster_id,
  priority: spec.priority,
  slots: spec.workers,
  passed_over: 0,
});

/** A tick of a task: a job like it, its child. Runs inside the write that moves the task on. */
export async function fireTask(db: Db, task: JobRow, now: number): Promise<void> {
  const id = newJobId(now);
  const spec: JobSpecFields = {
    ...readSpec(task),
    id,
    created_at: iso(now),
    start_after: null,
    cron_expression: null,
    parent_job_id: task.id,
    rerun_from_job_id: null,
    run_group_id: id,
  };
  const { created_at, parent_job_id } = spec;
  const child: JobRow = { ...task, id, status: "CREATED", spec: JSON.stringify(spec), created_at, parent_job_id };
  await insertJob(db, child);
  await enqueue(db, queueRow(child, spec));
}

export async function getTeamJob(context: JobsContext, team: Team, id: string): Promise<Job> {
  const [text] = await listTeamJobs(context, team, { job_id: id });
  if (!text)
    throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}. List them with \`job ls\`.`);
  return JSON.parse(text) as Job;
}

/** The texts of jobs, newest first. */
export async function listTeamJobs(context: JobsContext, team: Team, query: ListJobsQuery): Promise<string[]> {
  const { db } = context.store;
  const frame = { publicUrl: context.publicUrl(), team: team.name, includeSteps: query.include_steps ?? false };
  return jobTexts(db, await findRows(db, team, query), frame);
}

async function findRows(db: Db, team: Team, query: ListJobsQuery): Promise<ShownJob[]> {
  if (query.job_id !== undefined) {
    const row = await findJob(db, team.id, query.job_id.toLowerCase());
    return row ? [row] : [];
  }
  return listJobs(db, {
    teamId: team.id,
    statuses: query.status && readStatuses(query.status),
    name: query.name,
    username: query.created_by,
    before: query.cursor,
    limit: query.limit ?? 20,
  });
}

/** States and groups of states, in any letter case, repeated or comma-separated. */
function readStatuses(texts: readonly string[]): JobStatus[] {
  const names = texts.flatMap((text) => text.split(",")).map((name) => name.trim().toUpperCase());
  const found = names.flatMap((name) => {
    const group = statusGroups[name] ?? jobStatuses.filter((status) => status === name);
    if (group.length === 0) throw invalid("status", `ACTIVE, INACTIVE or one of ${jobStatuses.join(", ")}`, name);
    return group;
  });
  return [...new Set(found)];
}

/** Cancels, and says what happened. */
export async function cancelJob(context: JobsContext, team: Team, id: string, now: number): Promise<string> {
  const { store, signals } = context;
  const status = await store.write(async (db) => {
    const job = await getJob(db, id);
    if (!job || job.team_id !== team.id)
      throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`);
    return cancelFrom(db, job, now);
  });
  signals.observe.wake();
  signals.jobChanged(id);
  if (status === "CANCELED") return `Job ${id} is canceled.`;
  return `Job ${id} is being canceled.`;
}

async function cancelFrom(db: Db, job: JobRow, now: number): Promise<JobStatus> {
  const { id, status } = job;
  const finished = { finished_at: iso(now) };
  if (status === "CANCELING" || status === "CANCELING_SCHEDULED") return status;
  if (status === "TASK") {
    await deleteTask(db, id);
    await moveJob(db, { id, from: ["TASK"], to: "CANCELED", changes: finished });
    return "CANCELED";
  }
  // Off the queue first: whoever takes that row decides whether a process will ever exist.
  if (await dequeue(db, id)) {
    await moveJob(db, { id, from: ["CREATED", "SCHEDULED", "QUEUED"], to: "CANCELING_SCHEDULED" });
    await moveJob(db, { id, from: ["CANCELING_SCHEDULED"], to: "CANCELED", changes: finished });
    return "CANCELED";
  }
  if (await moveJob(db, { id, from: ["PROVISIONING", "INIT", "RUNNING"], to: "CANCELING" })) return "CANCELING";
  throw new ApiError(
    "wrong_state",
    `Job ${id} is ${status}; only a job that is ${jobActions.cancel.join(", ")} can be canceled.`,
  );
}
