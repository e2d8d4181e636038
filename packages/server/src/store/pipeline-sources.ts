/** What pipelines are made from: the versions that were asked for, all versions upstream of them, and who made them. */
import { type RawBuilder, sql } from "kysely";
import type { Db } from "./store.ts";

export interface VersionNumbers {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** One version of a dataset, or its latest; none that is not complete or was removed. */
export function findLiveVersion(db: Db, datasetId: number, numbers: VersionNumbers | undefined) {
  const query = db
    .selectFrom("dataset_versions")
    .select(["id", "version"])
    .where("dataset_id", "=", datasetId)
    .where("status", "=", 4)
    .where("removed_at", "is", null);
  if (numbers === undefined)
    return query.orderBy("major", "desc").orderBy("minor", "desc").orderBy("patch", "desc").limit(1).executeTakeFirst();
  const { major, minor, patch } = numbers;
  return query.where("major", "=", major).where("minor", "=", minor).where("patch", "=", patch).executeTakeFirst();
}

/** A version that is needed, and the job that made it; null: nobody's. */
export interface SourceVersion {
  readonly id: number;
  readonly maker: string | null;
}

/** The first version needs the second. */
export interface VersionNeed {
  readonly version_id: number;
  readonly needs_version_id: number;
}

/** These versions and all that they were made from: found by index, so that only what is found costs anything. */
const closureOf = (ids: readonly number[]): RawBuilder<unknown> =>
  sql`with recursive closure (id) as (
    select id from dataset_versions where id in (${sql.join(ids)})
    union
    select needs_version_id from closure join dataset_dependencies on version_id = closure.id
    where needs_version_id is not null
  )`;

export async function sourceVersions(db: Db, ids: readonly number[]): Promise<SourceVersion[]> {
  const linked = sql`(select min(job_id) from dataset_version_jobs
    where version_id = dataset_versions.id and is_creator = 1)`;
  const query = sql<SourceVersion>`${closureOf(ids)}
    select closure.id, coalesce(job_id, ${linked}) as maker
    from closure join dataset_versions on dataset_versions.id = closure.id`;
  return (await query.execute(db)).rows;
}

export async function needsOf(db: Db, ids: readonly number[]): Promise<VersionNeed[]> {
  const query = sql<VersionNeed>`${closureOf(ids)}
    select version_id, needs_version_id from closure join dataset_dependencies on version_id = closure.id
    where needs_version_id is not null`;
  return (await query.execute(db)).rows;
}

/** In full, for people. */
export async function nameOfVersion(db: Db, id: number): Promise<string> {
  const row = await db
    .selectFrom("dataset_versions")
    .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
    .innerJoin("projects", "projects.id", "datasets.project_id")
    .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
    .select(["namespaces.name as namespace", "projects.name as project", "datasets.name", "version"])
    .where("dataset_versions.id", "=", id)
    .executeTakeFirstOrThrow();
  return `${row.namespace}.${row.project}.${row.name}@${row.version}`;
}
