/** Whether somebody has made the datasets of a schedule with a newer script than the one that it runs. */
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

/** Runs that are looked at for one answer, and scripts that are told of one schedule. */
const mostRuns = 20_000;
const mostTold = 20;

interface Overtaken {
  readonly template: string;
  /** The job that the schedule repeats. */
  readonly runs: string;
  readonly by: NewestMade;
}

/** By template. Null: not looked at, since versions were named, or there are too many runs. */
export async function newerScripts(
  db: Db,
  templates: readonly string[],
): Promise<(template: string) => NewerScript[] | null> {
  const runs = await runsOfTemplates(db, templates, mostRuns);
  const jobIds = [...new Set([...runs.values()].flat().map(({ job_id }) => job_id))];
  const origins = await originsOf(db, jobIds);
  const made = await datasetsMadeBy(db, jobIds);
  const newest = await newestMade(db, [...new Set([...made.values()].flat())]);
  const overtaken = [...runs.values()].flat().flatMap(({ pipeline_id, job_id }) =>
    (made.get(job_id) ?? []).flatMap((dataset): Overtaken[] => {
      const by = newest.get(dataset);
      const isNewer = by && by.origin_job_id > (origins.get(job_id) ?? job_id);
      return isNewer ? [{ template: pipeline_id, runs: job_id, by }] : [];
    }),
  );
  const told = await tell(db, overtaken);
  return (template) => (runs.has(template) ? (told.get(template) ?? []) : null);
}

/** The same script that somebody ran again is no newer one. */
async function tell(db: Db, overtaken: readonly Overtaken[]): Promise<Map<string, NewerScript[]>> {
  const told = new Map<string, NewerScript[]>();
  if (overtaken.length === 0) return told;
  const ids = new Set(overtaken.flatMap(({ runs, by }) => [runs, by.origin_job_id]));
  const jobs = new Map((await getShortJobs(db, [...ids])).map((job) => [job.id, job]));
  const names = await namesOfDatasets(db, [...new Set(overtaken.map(({ by }) => by.dataset_id))]);
  for (const { template, runs, by } of overtaken) {
    const [older, newer] = [jobs.get(runs), jobs.get(by.origin_job_id)];
    const list = told.get(template) ?? [];
    if (!older || !newer || scriptOf(older) === scriptOf(newer) || list.length >= mostTold) continue;
    list.push({
      dataset: names.get(by.dataset_id) ?? "",
      runs_job_id: runs,
      job_id: newer.id,
      name: newer.name,
      created_at: newer.created_at,
      created_by: await usernameOf(db, newer.user_id),
    });
    told.set(template, list);
  }
  return told;
}

/** What makes one script differ from another: not what it is given. */
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
