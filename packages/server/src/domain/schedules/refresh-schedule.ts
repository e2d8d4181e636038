/** A schedule takes the newest scripts: its template is made anew from lineage as it is now. Inside the write that holds the schedule. */
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

/** Returns what changed, for the audit; undefined: it has the newest scripts already. */
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

const askedOf = ({ asked, datasets }: PipelineRow): string[] =>
  asked === null ? (JSON.parse(datasets) as string[]).map(withoutVersion) : (JSON.parse(asked) as string[]);

/**
 * Every firing makes versions, so the newest maker is usually a run of the schedule itself: where it is of the same script
 * the job stays that the template has. What was set for one firing would otherwise become part of the next.
 */
async function keepingOwn(db: Db, own: readonly string[], nodes: readonly GraphNode[]): Promise<GraphNode[]> {
  const origins = await originsOf(db, [...own, ...nodes.map(({ jobId }) => jobId)]);
  const ownOf = new Map(own.map((jobId) => [origins.get(jobId), jobId]));
  const kept = new Map(nodes.map(({ jobId }) => [jobId, ownOf.get(origins.get(jobId)) ?? jobId]));
  // Two runs of one script stay two.
  if (new Set(kept.values()).size < nodes.length) return [...nodes];
  const keep = (jobId: string) => kept.get(jobId) ?? jobId;
  return nodes.map(({ jobId, parents }) => ({ jobId: keep(jobId), parents: parents.map(keep) }));
}

/**
 * Whoever took a schedule over lent their rights to the scripts that it had then, not to whatever a colleague makes next.
 * The service account is nobody's: what a team makes is what it is for.
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
    `The newest ${foreign.name ?? foreign.id} is ${maker}'s and would run with the rights and credentials of ${owner}, whom ${template.name} was handed over to. ${owner} runs it as a job of their own first, or the schedule is handed over to the team's service account.`,
  );
}

/**
 * What is set on a template was set by whoever all its jobs run as. Beside a job of somebody else it would run with that
 * person's rights.
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
    `The newest ${foreign.name ?? foreign.id} is ${owner}'s and would run with ${owner}'s rights, with the requirements, repository, environment, files or credentials that were set on ${template.name}. Take those settings back first, or let ${owner} make the schedule.`,
  );
}
