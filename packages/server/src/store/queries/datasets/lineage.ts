/** Lineage queries: edges from versions to their dependencies and to their dependents. */
import { setImmediate as others } from "node:timers/promises";
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { parts } from "../batches.ts";

export interface LineageStep {
  readonly version_id: number;
  readonly needs_version_id: number | null;
  readonly needs_uri: string | null;
}

export type Direction = "upstream" | "downstream";

/**
 * Returns at most `limit` lineage edges of these versions, upstream (their dependencies) or downstream (their
 * dependents). `nextLook` is awaited before each statement, so that other requests can run.
 */
export async function stepsFrom(
  db: Db,
  ids: readonly number[],
  direction: Direction,
  limit: number,
  nextLook: () => Promise<void> = others,
): Promise<LineageStep[]> {
  const steps: LineageStep[] = [];
  for (const part of parts([...ids].sort((a, b) => a - b))) {
    await nextLook();
    steps.push(...(await stepsQuery(db, part, direction, limit - steps.length).execute()));
    if (steps.length >= limit) break;
  }
  return steps;
}

/**
 * Reads lineage edges in the order of an index, so that the limit always selects the same edges, and no further edges
 * are read or sorted.
 */
const stepsQuery = (db: Db, ids: readonly number[], direction: Direction, limit: number) =>
  db
    .selectFrom("dataset_dependencies")
    .selectAll()
    .where(direction === "upstream" ? "version_id" : "needs_version_id", "in", ids)
    .orderBy(
      direction === "upstream"
        ? sql`version_id, coalesce(needs_version_id, 0), coalesce(needs_uri, '')`
        : sql`needs_version_id`,
    )
    .limit(limit);

/** Returns the columns of versions that lineage shows, with the names of the jobs that created them. */
export async function lineageVersions(
  db: Db,
  teamId: number,
  ids: readonly number[],
  nextLook: () => Promise<void> = others,
) {
  const found = [];
  for (const part of parts(ids)) {
    await nextLook();
    const query = db
      .selectFrom("dataset_versions")
      .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
      .innerJoin("projects", "projects.id", "datasets.project_id")
      .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
      // The job id comes from the team's warehouse and may name a job of another team.
      .leftJoin("jobs", (join) => join.onRef("jobs.id", "=", "dataset_versions.job_id").on("jobs.team_id", "=", teamId))
      .select([
        "dataset_versions.id",
        "dataset_versions.uuid",
        "dataset_versions.version",
        "dataset_versions.status",
        "dataset_versions.num_objects",
        "dataset_versions.created_at",
        "dataset_versions.job_id",
        "jobs.name as job_name",
        "namespaces.name as namespace",
        "projects.name as project",
        "datasets.name",
      ])
      .where("dataset_versions.team_id", "=", teamId)
      .where("dataset_versions.id", "in", part);
    found.push(...(await query.execute()));
  }
  return found;
}
