/**
 * Queries on the jobs that are repeated by the template pipelines of schedules: their scripts, and the datasets that
 * the jobs created.
 */
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart } from "../batches.ts";

export interface TemplateRun {
  readonly pipeline_id: string;
  readonly job_id: string;
}

/**
 * Returns the runs of template pipelines, by template id. If there would be more than `most` runs in total, the last
 * templates are left out. Templates whose targets name a version are always left out, because their scripts never
 * change.
 */
export async function runsOfTemplates(
  db: Db,
  templates: readonly string[],
  most: number,
): Promise<Map<string, TemplateRun[]>> {
  const found = new Map<string, TemplateRun[]>();
  let left = most;
  const read = async (part: readonly string[]) => {
    if (left < 0) return;
    const counts = await db
      .selectFrom("pipelines")
      .leftJoin("pipeline_runs", "pipeline_runs.pipeline_id", "pipelines.id")
      .select((eb) => ["pipelines.id", eb.fn.count("pipeline_runs.job_id").as("count")])
      .where("pipelines.id", "in", part)
      .where("asked", "is", null)
      .groupBy("pipelines.id")
      .orderBy("pipelines.id")
      .execute();
    const taken: string[] = [];
    for (const { id, count } of counts) {
      left -= Number(count);
      if (left >= 0) taken.push(id);
    }
    if (taken.length === 0) return;
    for (const id of taken) found.set(id, []);
    const query = db.selectFrom("pipeline_runs").select(["pipeline_id", "job_id"]).where("pipeline_id", "in", taken);
    for (const run of await query.orderBy("position").execute()) found.get(run.pipeline_id)?.push(run);
  };
  await eachPart(templates, read, templatesAtOnce);
  return found;
}

/** Templates per statement: each may have thousands of runs. */
const templatesAtOnce = 4;

/** Returns the original of each job: the job that it repeats, directly or through other repeats, or the job itself. */
export async function originsOf(db: Db, jobIds: readonly string[]): Promise<Map<string, string>> {
  const origins = new Map<string, string>();
  await eachPart(jobIds, async (part) => {
    const query = db.selectFrom("jobs").select(["id", "origin_id"]).where("id", "in", part);
    for (const { id, origin_id } of await query.execute()) origins.set(id, origin_id ?? id);
  });
  return origins;
}

/**
 * Returns, for each job, the datasets that it created a version of. If there would be more than `most` of them in
 * total, the last jobs are left out.
 */
export async function datasetsMadeBy(db: Db, jobIds: readonly string[], most: number): Promise<Map<string, number[]>> {
  const made = new Map<string, number[]>();
  let left = most;
  const read = async (part: readonly string[]) => {
    if (left <= 0) return;
    const ids = sql.join([...part]);
    const { rows } = await sql<{ job_id: string; dataset_id: number }>`
      select job_id, dataset_id from dataset_versions where job_id in (${ids})
      union select linked.job_id, version.dataset_id from dataset_version_jobs linked
      join dataset_versions version on version.id = linked.version_id
      where linked.job_id in (${ids}) and linked.is_creator = 1 and version.job_id is null
      order by 1, 2 limit ${left}`.execute(db);
    left -= rows.length;
    for (const { job_id, dataset_id } of rows) {
      const known = made.get(job_id);
      if (known) known.push(dataset_id);
      else made.set(job_id, [dataset_id]);
    }
  };
  await eachPart(jobIds, read, makersAtOnce);
  return made;
}

/** Jobs per statement: each may have created thousands of versions. */
const makersAtOnce = 50;

/** Returns the full names of datasets, by id. */
export async function namesOfDatasets(db: Db, ids: readonly number[]): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  await eachPart(ids, async (part) => {
    const rows = await db
      .selectFrom("datasets")
      .innerJoin("projects", "projects.id", "datasets.project_id")
      .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
      .select(["datasets.id", "namespaces.name as namespace", "projects.name as project", "datasets.name"])
      .where("datasets.id", "in", part)
      .execute();
    for (const { id, namespace, project, name } of rows) names.set(id, `${namespace}.${project}.${name}`);
  });
  return names;
}
