/** Finds the jobs that must run again to rebuild datasets. If they cannot run, the error says why. */
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { nextTurn, parts } from "../../store/queries/batches.ts";
import { findDataset } from "../../store/queries/datasets/datasets.ts";
import { findLiveVersions } from "../../store/queries/datasets/live-versions.ts";
import { newestMade } from "../../store/queries/datasets/newest-made.ts";
import { filesByIds } from "../../store/queries/jobs/files.ts";
import {
  fieldsGivenBack,
  getJob,
  getShortJobs,
  type JobRow,
  ownTextExceeds,
  type ShortJob,
} from "../../store/queries/jobs/jobs.ts";
import { nameOfVersion } from "../../store/queries/pipelines/pipeline-sources.ts";
import { absencesIn } from "../access/absence.ts";
import type { Team } from "../access/principals.ts";
import { fullName, type Reference, readReference, writeVersion } from "../datasets/dataset-names.ts";
import { noSuchDataset } from "../datasets/dataset-namesakes.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { allInNameOf, type HandedOver } from "../lifecycle/run-as.ts";
import { mostDraftText } from "./pipeline-drafts.ts";
import { type GraphNode, mostNeeds } from "./pipeline-graph.ts";
import { mostUpstream, type UpstreamTarget, upstreamGraph } from "./pipeline-upstream.ts";

/**
 * The team whose jobs are searched. The caller's role is left out, because a schedule also searches and has no role.
 */
export type SourceTeam = Pick<Team, "id" | "name">;

/** A dataset version to rebuild. */
interface Target extends UpstreamTarget {
  /** Full name of the dataset. */
  readonly name: string;
  readonly version: string;
}

/** The jobs to run again, and the order in which they have to run. */
export interface SourceGraph {
  readonly nodes: readonly GraphNode[];
  /** The jobs of the nodes, by id. */
  readonly jobs: ReadonlyMap<string, ShortJob>;
}

/** Datasets to rebuild. */
interface Wanted extends Partial<HandedOver> {
  /** Names of the datasets as people typed them. */
  readonly datasets: readonly string[];
  /** The user in whose namespace short names are looked up. */
  readonly username: string;
}

export interface Sources extends SourceGraph {
  /** Full names of the datasets to rebuild, each with a version. */
  readonly targets: readonly string[];
  /**
   * Names of these datasets, with a version only where the request named one; null if the request named no version at
   * all.
   */
  readonly asked: readonly string[] | null;
}

/**
 * Maximum number of runs in a pipeline. There is a limit because one answer shows all runs, and one transaction writes
 * them.
 */
const mostRuns = 5000;
const refusal = (why: string) => new ApiError("invalid", `datasets: ${why}`);

/**
 * Finds the jobs that must run again to rebuild these datasets. If one of the jobs cannot run, throws with the reason.
 */
export async function findSources(
  db: Db,
  team: SourceTeam,
  { datasets, username, run_as = "" }: Wanted,
): Promise<Sources> {
  const references = datasets.map((text) => readReference(text, username, "datasets"));
  const targets = await findTargets(db, team, references);
  const graph = await upstreamGraph(db, targets);
  if ("tooLarge" in graph)
    throw refusal(
      `these datasets depend on more than ${mostUpstream.versions} versions, or the versions have more than ${mostNeeds} dependencies between them. Name fewer datasets, or datasets further upstream.`,
    );
  if ("unmade" in graph)
    throw refusal(
      `${await nameOfVersion(db, graph.unmade)} was not created by a job, so there is nothing to run again. Create a new version with a job first.`,
    );
  if ("cycle" in graph) {
    const circle = await describeCycle(db, graph.cycle);
    const hint = targets.every(({ isPinned }) => isPinned)
      ? ""
      : " Without a version, the newest job that made a dataset runs again. Name a version (NAME@1.2.3) to run the job that made that version.";
    throw refusal(`${circle}${hint}`);
  }
  if (graph.nodes.length > mostRuns)
    throw refusal(
      `${graph.nodes.length} jobs would have to run again; a pipeline has at most ${mostRuns} runs. Name fewer datasets, or datasets further upstream.`,
    );
  const jobs = await findJobs(db, team, graph.nodes, { run_as });
  const withVersion = ({ name, version }: Target) => `${name}@${version}`;
  return {
    targets: targets.map(withVersion),
    asked: targets.some(({ isPinned }) => isPinned)
      ? targets.map((target) => (target.isPinned ? withVersion(target) : target.name))
      : null,
    nodes: graph.nodes,
    jobs,
  };
}

/**
 * Returns the versions to which the references lead, without duplicates. If a reference names no version, it leads to
 * the newest version of the dataset. But if a job created the newest version, the reference leads to the version with
 * the newest script (`newestMade`).
 */
async function findTargets(db: Db, team: SourceTeam, references: readonly Reference[]): Promise<Target[]> {
  const found = await findLiveVersions(db, team.id, references);
  const open = found.flatMap((one, at) => (one?.origin_job_id && !references[at]?.version ? one.dataset_id : []));
  const newest = await newestMade(db, [...new Set(open)]);
  const targets = new Map<number, Target>();
  for (const [index, reference] of references.entries()) {
    const latest = found[index];
    if (!latest) throw await noTarget(db, team, reference);
    const isPinned = reference.version !== undefined;
    const { id, version } = (isPinned ? undefined : latest.origin_job_id && newest.get(latest.dataset_id)) || latest;
    const { dataset_id } = latest;
    const before = targets.get(id);
    targets.set(id, { id, dataset_id, name: fullName(reference), version, isPinned: isPinned || !!before?.isPinned });
  }
  return [...targets.values()];
}

async function noTarget(db: Db, team: SourceTeam, reference: Reference): Promise<ApiError> {
  if (!(await findDataset(db, team.id, reference))) return noSuchDataset(db, team, reference);
  const name = fullName(reference);
  const wanted = reference.version ? `version ${writeVersion(reference.version)}` : "version";
  return new ApiError(
    "not_found",
    `The dataset ${name} has no usable ${wanted}: ${reference.version ? "this version does not exist, is incomplete or was removed" : "every version is incomplete or was removed"}. Create a new version with a job first.`,
  );
}

/** Describes a cycle of jobs that depend on each other. Names at most five of the jobs. */
async function describeCycle(db: Db, jobIds: readonly string[]): Promise<string> {
  const names = await Promise.all(jobIds.slice(0, 5).map(async (id) => nameOfJob(await getJob(db, id), id)));
  if (jobIds.length > names.length) names.push(`${jobIds.length - names.length} others`);
  return `the jobs ${names.join(" and ")} need each other's datasets, so none of them can run first.`;
}

const nameOfJob = (job: JobRow | undefined, id: string) => (job?.name ? `${job.name} (${id})` : id);

/** Returns the jobs of the graph's nodes, by id. Throws if a job no longer exists or cannot run again. */
async function findJobs(
  db: Db,
  team: SourceTeam,
  nodes: readonly GraphNode[],
  handedOver: HandedOver,
): Promise<Map<string, ShortJob>> {
  const ids = nodes.map(({ jobId }) => jobId);
  // Checked before the jobs are read, since they may have hundreds of megabytes in total.
  if (await ownTextExceeds(db, ids, mostDraftText))
    throw refusal(
      `the ${nodes.length} jobs that would have to run again have more than ${mostDraftText} bytes of settings and variables together. Name fewer datasets, or datasets further upstream.`,
    );
  const found = await getShortJobs(db, ids);
  const jobs = new Map(found.filter(({ team_id }) => team_id === team.id).map((job) => [job.id, job]));
  const gone = nodes.find(({ jobId }) => !jobs.has(jobId));
  if (gone)
    throw refusal(
      `the job ${gone.jobId} would have to run again, because a dataset version that it created is needed, but the job no longer exists in this team. The lineage of the datasets shows which dataset this job created: create that dataset with a new job first.`,
    );
  const why = await whyNotRepeatable(db, await allInNameOf(db, handedOver, [...jobs.values()]));
  if (why !== undefined)
    throw refusal(
      `a job that created these datasets or their inputs cannot run again: ${why} Create its datasets with a new job, then try again.`,
    );
  return jobs;
}

/** Returns why these jobs of one team cannot run again now; undefined if they can. */
export async function whyNotRepeatable(db: Db, jobs: readonly ShortJob[]): Promise<string | undefined> {
  return absentText(jobs) ?? (await absentCreator(db, jobs)) ?? (await absentFile(db, jobs));
}

/** Returns an error text if retention has deleted the script or the variables of a job; otherwise undefined. */
function absentText(jobs: readonly ShortJob[]): string | undefined {
  const job = jobs.find((one) => fieldsGivenBack(one).length > 0);
  if (!job) return undefined;
  const what = fieldsGivenBack(job).includes("environment") ? "variables" : "script";
  return `the ${what} of the job ${nameOfJob(job, job.id)} ${what === "script" ? "was" : "were"} removed, since the job ended long ago.`;
}

/**
 * Returns an error text if the owner of a job is disabled or may no longer run jobs in the team; otherwise undefined.
 */
export async function absentCreator(db: Db, jobs: readonly JobRow[]): Promise<string | undefined> {
  const [first] = jobs;
  if (!first) return undefined;
  const absences = await absencesIn(
    db,
    first.team_id,
    jobs.map(({ user_id }) => user_id),
  );
  const job = jobs.find(({ user_id }) => absences.has(user_id));
  const absence = job && absences.get(job.user_id);
  return absence && `the job ${nameOfJob(job, job.id)} belongs to ${absence.username}, who ${absence.why}.`;
}

/** Jobs whose files are looked up before other work gets the event loop: each may have a thousand. */
const lookedUp = 20;

/** Returns an error text if a file of a job no longer exists; otherwise undefined. */
async function absentFile(db: Db, jobs: readonly JobRow[]): Promise<string | undefined> {
  const known = new Set<number>();
  for (const [index, job] of jobs.entries()) {
    if (index % lookedUp === lookedUp - 1) await nextTurn();
    const fresh = readSpec(job)
      .files.map(Number)
      .filter((id) => !known.has(id));
    for (const part of parts(fresh)) for (const { id } of await filesByIds(db, part)) known.add(id);
    if (fresh.some((id) => !known.has(id))) return `a file of the job ${nameOfJob(job, job.id)} no longer exists.`;
  }
  return undefined;
}
