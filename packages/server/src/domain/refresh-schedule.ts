/** A schedule takes the newest scripts: its template is made anew from lineage as it is now. Inside the write that holds the schedule. */
import { ApiError } from "@millrace/contract";
import { getShortJobs, type ShortJob } from "../store/jobs.ts";
import { lockPipeline, type PipelineRow, replaceRuns, runsOf, updatePipeline } from "../store/pipelines.ts";
import { originsOf } from "../store/schedule-scripts.ts";
import type { Db } from "../store/store.ts";
import { usernameOf } from "../store/users.ts";
import { iso } from "./clock.ts";
import { withoutVersion } from "./dataset-names.ts";
import { graphRows } from "./new-pipeline.ts";
import { parentsOf } from "./pipeline-documents.ts";
import type { GraphNode } from "./pipeline-graph.ts";
import { readSettings } from "./pipeline-settings.ts";
import { findSources, type SourceTeam } from "./pipeline-sources.ts";

/** Returns what changed, for the audit; undefined: it has the newest scripts already. */
export async function refreshTemplate(
  db: Db,
  team: SourceTeam,
  templateId: string,
  now: number,
): Promise<string | undefined> {
  const template = await lockPipeline(db, templateId);
  const { targets, nodes, jobs } = await findSources(db, team, "", askedOf(template));
  const before = await runsOf(db, template.id);
  const own = before.map(({ job_id }) => job_id);
  const fresh = await keepingOwn(db, own, nodes);
  const edges = await parentsOf(db, template.id);
  const shape = (list: readonly GraphNode[]) =>
    JSON.stringify(list.map(({ jobId, parents }) => [jobId, ...[...parents].sort()].join()).sort());
  if (shape(fresh) === shape(own.map((jobId) => ({ jobId, parents: edges.get(jobId) ?? [] })))) return undefined;
  const known = new Map(before.map(({ job_id, name }) => [job_id, name]));
  const added = fresh.filter(({ jobId }) => !known.has(jobId)).flatMap(({ jobId }) => jobs.get(jobId) ?? []);
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
 * What is set on a template was set by whoever made all its jobs. Beside a job of somebody else it would run with that
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
  const [first] = await getShortJobs(db, own.slice(0, 1));
  const foreign = added.find(({ user_id }) => user_id !== first?.user_id);
  if (!foreign) return;
  const owner = await usernameOf(db, foreign.user_id);
  throw new ApiError(
    "wrong_state",
    `The newest ${foreign.name ?? foreign.id} is ${owner}'s and would run with ${owner}'s rights, with the requirements, repository, environment, files or credentials that were set on ${template.name}. Take those settings back first, or let ${owner} make the schedule.`,
  );
}
