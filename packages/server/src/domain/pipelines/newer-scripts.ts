/**
 * Finds newer scripts for schedules. A schedule repeats jobs that once created its datasets. If a later job with
 * another script has created one of these datasets since, its script is newer.
 */
import type { NewerScript } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { type NewestMade, newestMade } from "../../store/queries/datasets/newest-made.ts";
import { getShortJobs, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import {
  datasetsMadeBy,
  namesOfDatasets,
  originsOf,
  runsOfTemplates,
} from "../../store/queries/schedules/schedule-scripts.ts";
import { readSpec } from "../lifecycle/job-documents.ts";

/** Maximum number of runs that are compared for one answer. */
const mostRuns = 20_000;
/** Maximum number of datasets of these runs that are compared for one answer. */
const mostMade = 50_000;
/** Maximum number of newer scripts that are listed for one schedule. */
const mostListed = 20;

/** A run of a schedule's template, and the newer job that has created the dataset of the run since. */
interface Outdated {
  readonly template: string;
  /** Id of the job that the schedule repeats. */
  readonly runs: string;
  readonly by: NewestMade;
}

/**
 * Returns a function that takes the id of a template and returns the template's newer scripts. The function returns
 * null for a template that was not compared, because it rebuilds a fixed dataset version or because the limit of
 * `mostRuns` runs was reached.
 */
export async function newerScripts(
  db: Db,
  templates: readonly string[],
): Promise<(template: string) => NewerScript[] | null> {
  const runs = await runsOfTemplates(db, templates, mostRuns);
  const jobIds = [...new Set([...runs.values()].flat().map(({ job_id }) => job_id))];
  const origins = await originsOf(db, jobIds);
  const made = await datasetsMadeBy(db, jobIds, mostMade);
  const newest = await newestMade(db, [...new Set([...made.values()].flat())]);
  const outdated = [...runs.values()].flat().flatMap(({ pipeline_id, job_id }) =>
    (made.get(job_id) ?? []).flatMap((dataset): Outdated[] => {
      const by = newest.get(dataset);
      const isNewer = by && by.origin_job_id > (origins.get(job_id) ?? job_id);
      return isNewer ? [{ template: pipeline_id, runs: job_id, by }] : [];
    }),
  );
  const newer = await withNewScript(db, outdated);
  return (template) => (runs.has(template) ? (newer.get(template) ?? []) : null);
}

/** Returns newer scripts by the id of the template. Leaves out newer jobs that ran the same script again. */
async function withNewScript(db: Db, outdated: readonly Outdated[]): Promise<Map<string, NewerScript[]>> {
  const found = new Map<string, NewerScript[]>();
  if (outdated.length === 0) return found;
  const ids = new Set(outdated.flatMap(({ runs, by }) => [runs, by.origin_job_id]));
  const jobs = new Map((await getShortJobs(db, [...ids])).map((job) => [job.id, job]));
  const names = await namesOfDatasets(db, [...new Set(outdated.map(({ by }) => by.dataset_id))]);
  for (const { template, runs, by } of outdated) {
    const [older, newer] = [jobs.get(runs), jobs.get(by.origin_job_id)];
    const list = found.get(template) ?? [];
    if (!older || !newer || scriptOf(older) === scriptOf(newer) || list.length >= mostListed) continue;
    list.push({
      dataset: names.get(by.dataset_id) ?? "",
      runs_job_id: runs,
      job_id: newer.id,
      name: newer.name,
      created_at: newer.created_at,
      created_by: await usernameOf(db, newer.user_id),
    });
    found.set(template, list);
  }
  return found;
}

/**
 * Returns a text for comparing scripts. It has the script, repository and requirements of a job, but not its variables
 * and parameters.
 */
function scriptOf(job: ShortJob): string {
  const { query, query_type, requirements, repository, script } = readSpec(job);
  const { texts } = job;
  return JSON.stringify([
    texts.query ?? query,
    query_type,
    texts.requirements ?? requirements,
    texts.repository ?? repository,
    script ?? null,
  ]);
}
