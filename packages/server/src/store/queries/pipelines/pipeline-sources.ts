/** Finds what a pipeline is built from: all versions upstream of its targets, and the jobs that created them. */
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart, nextTurn } from "../batches.ts";

/** A dependency: the version `version_id` was built from the version `needs_version_id`. */
export interface VersionNeed {
  readonly version_id: number;
  readonly needs_version_id: number;
}

/** A dependency with the dataset of the needed version. */
export interface FoundNeed extends VersionNeed {
  readonly dataset_id: number;
}

/** The versions upstream of some targets. */
export interface Upstream {
  /** All versions, the targets included, each once. */
  readonly ids: readonly number[];
  readonly needs: readonly VersionNeed[];
}

/** Limits on the size of the search. */
export interface MostUpstream {
  readonly versions: number;
  readonly needs: number;
}

/** Number of versions per statement. */
const askedAtOnce = 500;

/** Chooses the version that is used for each dependency. */
type Choose = (needs: readonly FoundNeed[]) => Promise<readonly VersionNeed[]>;
const asItWas: Choose = async (needs) => needs;

/**
 * Returns the targets, the versions that they were built from, directly or indirectly, and the dependencies between all
 * of these. Each version is read once, by index. Returns undefined if there are more versions or dependencies than
 * `most` allows.
 */
export async function findUpstream(
  db: Db,
  targets: readonly number[],
  most: MostUpstream,
  choose = asItWas,
): Promise<Upstream | undefined> {
  const ids = new Set(targets);
  const needs: VersionNeed[] = [];
  let found = [...ids];
  while (found.length > 0 && ids.size <= most.versions) {
    if (needs.length > 0) await nextTurn();
    const asked = await needsOf(db, found.splice(0, askedAtOnce), most.needs + 1 - needs.length);
    const next = await choose(asked);
    for (const need of next) needs.push(need);
    if (needs.length > most.needs) return undefined;
    const fresh = new Set(next.map(({ needs_version_id }) => needs_version_id).filter((id) => !ids.has(id)));
    for (const id of fresh) ids.add(id);
    found = [...found, ...fresh];
  }
  return found.length > 0 ? undefined : { ids: [...ids], needs };
}

/**
 * Reads the dependencies of versions on other versions. The `coalesce` is written as in the index, so that the index is
 * used and dependencies on storage are not read.
 */
const needsOf = (db: Db, ids: readonly number[], limit: number) =>
  db
    .selectFrom("dataset_dependencies")
    .innerJoin("dataset_versions as needed", "needed.id", "needs_version_id")
    .select(["version_id", "needs_version_id", "needed.dataset_id"])
    .where("version_id", "in", ids)
    .where(sql<number>`coalesce(needs_version_id, 0)`, ">", 0)
    .limit(limit)
    .$narrowType<VersionNeed>()
    .execute();

/** Returns the newest of these versions for each dataset, by dataset id. */
export async function newestOf(db: Db, ids: readonly number[]): Promise<Map<number, number>> {
  const newest = new Map<number, number>();
  await eachPart(ids, async (part) => {
    const query = db.selectFrom("dataset_versions").select(["id", "dataset_id"]).where("id", "in", part);
    for (const { id, dataset_id } of await query.execute())
      newest.set(dataset_id, Math.max(id, newest.get(dataset_id) ?? 0));
  });
  return newest;
}

/** A version and the job that created it (`maker`), which is null if unknown. */
export interface SourceVersion {
  readonly id: number;
  readonly maker: string | null;
}

export async function makersOf(db: Db, ids: readonly number[]): Promise<SourceVersion[]> {
  const found: SourceVersion[] = [];
  await eachPart(ids, async (part) => {
    const linked = sql`(select min(job_id) from dataset_version_jobs
      where version_id = dataset_versions.id and is_creator = 1)`;
    const query = sql<SourceVersion>`select id, coalesce(job_id, ${linked}) as maker from dataset_versions
      where id in (${sql.join([...part])}) order by id`;
    found.push(...(await query.execute(db)).rows);
  });
  return found;
}

/** Returns the full name of a version, for messages. */
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
