/**
 * Updates a schedule to the newest scripts. Each firing of a schedule runs a copy of its template, which is a pipeline.
 * This file rebuilds the template from the current lineage. The caller must have locked the schedule.
 */
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getShortJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf, usersByIds } from "../../store/queries/people/users.ts";
import {
  lockPipeline,
  type PipelineRow,
  replaceRuns,
  runsOf,
  updatePipeline,
} from "../../store/queries/pipelines/pipelines.ts";
import { originsOf } from "../../store/queries/schedules/schedule-scripts.ts";
import { withoutVersion } from "../datasets/dataset-names.ts";
import { readRunAs, runsAs } from "../lifecycle/run-as.ts";
import { graphRows } from "../pipelines/new-pipeline.ts";
import { parentsOf } from "../pipelines/pipeline-documents.ts";
import type { GraphNode } from "../pipelines/pipeline-graph.ts";
import { readSettings } from "../pipelines/pipeline-settings.ts";
import { findSources, type SourceTeam } from "../pipelines/pipeline-sources.ts";
import { iso } from "../time/clock.ts";

/**
 * Rebuilds a schedule's template, the pipeline that each firing copies. Returns what changed, for the audit log;
 * undefined if the template already has the newest scripts.
 */
export async function refreshTemplate(
  db: Db,
  team: SourceTeam,
  templateId: string,
  now: number,
): Promise<string | undefined> {
  const template = await lockPipeline(db, templateId);
  const { targets, nodes, jobs } = await findSources(db, team, {
    datasets: askedOf(template),
    username: "",
    run_as: template.run_as,
  });
  const before = await runsOf(db, template.id);
  const own = before.map(({ job_id }) => job_id);
  const fresh = await keepingOwn(db, own, nodes);
  const edges = await parentsOf(db, template.id);
  const shape = (list: readonly GraphNode[]) =>
    JSON.stringify(list.map(({ jobId, parents }) => [jobId, ...[...parents].sort()].join()).sort());
  if (shape(fresh) === shape(own.map((jobId) => ({ jobId, parents: edges.get(jobId) ?? [] })))) return undefined;
  const known = new Map(before.map(({ job_id, name }) => [job_id, name]));
  const added = fresh.filter(({ jobId }) => !known.has(jobId)).flatMap(({ jobId }) => jobs.get(jobId) ?? []);
  await requireOwnCode(db, template, added);
  await requireNoForeignCode(db, template, own, added);
  const nameOf = (jobId: string) => known.get(jobId) ?? jobs.get(jobId)?.name ?? jobId;
  const rows = graphRows(template.id, fresh, (jobId) => ({ created_job_id: null, name: nameOf(jobId) }));
  await replaceRuns(db, template.id, rows.runs, rows.edges);
  await updatePipeline(db, template.id, {
    triggered_from: targets[0] ?? "",
    datasets: JSON.stringify(targets),
    updated_at: iso(now),
  });
  const some = added.slice(0, 5).map(({ id, name }) => `${name ?? ""} (job ${id})`.trim());
  if (added.length > some.length) some.push(`${added.length - some.length} others`);
  return some.length > 0 ? `new: ${some.join(", ")}` : "fewer jobs";
}

/**
 * Returns the names of the datasets that a template rebuilds. A name includes a version (NAME@1.2.3) only if the
 * request that created the template named the version.
 */
const askedOf = ({ asked, datasets }: PipelineRow): string[] =>
  asked === null ? (JSON.parse(datasets) as string[]).map(withoutVersion) : (JSON.parse(asked) as string[]);

/**
 * Returns the nodes of the new graph. If the job of a node only repeats a job of the template, the node gets the
 * template's job instead. The reason: the newest job that created a dataset is usually a run of the schedule itself. If
 * later firings repeated that run, they would inherit the settings of its firing.
 */
async function keepingOwn(db: Db, own: readonly string[], nodes: readonly GraphNode[]): Promise<GraphNode[]> {
  const origins = await originsOf(db, [...own, ...nodes.map(({ jobId }) => jobId)]);
  const ownOf = new Map(own.map((jobId) => [origins.get(jobId), jobId]));
  const kept = new Map(nodes.map(({ jobId }) => [jobId, ownOf.get(origins.get(jobId)) ?? jobId]));
  // Two jobs that repeat the same original must not become one node.
  if (new Set(kept.values()).size < nodes.length) return [...nodes];
  const keep = (jobId: string) => kept.get(jobId) ?? jobId;
  return nodes.map(({ jobId, parents }) => ({ jobId: keep(jobId), parents: parents.map(keep) }));
}

/**
 * Throws if a new script of one user would run with the rights of another. A user who took over a schedule agreed to
 * run the scripts that the schedule had then, not later scripts of colleagues. The service account may run scripts of
 * the whole team.
 */
async function requireOwnCode(db: Db, template: PipelineRow, added: readonly ShortJob[]): Promise<void> {
  const runAs = readRunAs(template);
  const lent = added.filter(({ user_id }) => runsAs(runAs, user_id) !== user_id);
  if (lent.length === 0) return;
  const users = await usersByIds(db, [...new Set(lent.map(({ user_id }) => runsAs(runAs, user_id)))]);
  const people = new Map(users.filter((user) => user.service_team_id === null).map((user) => [user.id, user.username]));
  const foreign = lent.find(({ user_id }) => people.has(runsAs(runAs, user_id)));
  if (!foreign) return;
  const maker = await usernameOf(db, foreign.user_id);
  const owner = people.get(runsAs(runAs, foreign.user_id));
  throw new ApiError(
    "wrong_state",
    `The pipeline ${template.name} of the schedule cannot be updated to the newest scripts: the job ${foreign.name ?? foreign.id} belongs to ${maker} and would run with the rights and credentials of ${owner}, who took over the schedule. ${owner} must first run the script of this job as a job of their own, or the schedule must be handed over to the team's service account.`,
  );
}

/**
 * Throws if settings that add code would apply to a job of another user. The owner of the template's jobs chose these
 * settings, and their code would run with the other user's rights.
 */
async function requireNoForeignCode(
  db: Db,
  template: PipelineRow,
  own: readonly string[],
  added: readonly ShortJob[],
): Promise<void> {
  const { requirements, repository, files, credentials_names } = readSettings(template);
  if ([requirements, repository, files, credentials_names].every((set) => set === null) && template.environment === "")
    return;
  const runAs = readRunAs(template);
  const [first] = await getShortJobs(db, own.slice(0, 1));
  const setBy = first && runsAs(runAs, first.user_id);
  const foreign = added.find(({ user_id }) => runsAs(runAs, user_id) !== setBy);
  if (!foreign) return;
  const owner = await usernameOf(db, runsAs(runAs, foreign.user_id));
  throw new ApiError(
    "wrong_state",
    `The pipeline ${template.name} of the schedule cannot be updated to the newest scripts: the job ${foreign.name ?? foreign.id} belongs to ${owner} and would run with ${owner}'s rights, and with the requirements, repository, environment, files or credentials that are set on the pipeline. Remove these settings first, or ask ${owner} to create the schedule.`,
  );
}
