/** Queries on versions of datasets: what each was built from, and which job created it. */
import { versionStatus } from "@millrace/contract";
import { type Selectable, sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart, nextTurn, parts } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";
import { beginning } from "../short-texts.ts";
import { markExportsRemovedOf } from "./exports.ts";

export type DatasetVersionRow = Selectable<Tables["dataset_versions"]>;

/** A version to insert. `origin_job_id` is looked up from `job_id`. */
export type NewVersionRow = Omit<DatasetVersionRow, "id" | "origin_job_id">;

/**
 * SQL for the original job of this job, which is the job itself if it repeats none. Null if the job belongs to another
 * team; the id comes from a warehouse, whose content is not trusted.
 */
const originOf = (jobId: string | null, teamId: number) =>
  sql<string | null>`(select coalesce(origin_id, id) from jobs where id = ${jobId} and team_id = ${teamId})`;

/** Finds the version of a dataset with this version number. */
export const versionNumbered = (
  db: Db,
  { dataset_id, major, minor, patch }: Pick<DatasetVersionRow, "dataset_id" | "major" | "minor" | "patch">,
): Promise<Pick<DatasetVersionRow, "id" | "rows_table"> | undefined> =>
  db
    .selectFrom("dataset_versions")
    .select(["id", "rows_table"])
    .where("dataset_id", "=", dataset_id)
    .where("major", "=", major)
    .where("minor", "=", minor)
    .where("patch", "=", patch)
    .executeTakeFirst();

/** Replaces a version by another one with the same number, and marks exports of the old one as removed. */
export async function replaceVersion(db: Db, id: number, row: NewVersionRow): Promise<void> {
  await markExportsRemovedOf(db, [id]);
  const origin_job_id = originOf(row.job_id, row.team_id);
  await db
    .updateTable("dataset_versions")
    .set({ ...row, origin_job_id })
    .where("id", "=", id)
    .execute();
}

const byUuid = prepared<{ teamId: number; uuid: string }>()((db, value) =>
  db
    .selectFrom("dataset_versions")
    .select("id")
    .where("team_id", "=", value("teamId"))
    .where("uuid", "=", value("uuid")),
);
export const versionIdOf = async (db: Db, teamId: number, uuid: string): Promise<number | undefined> =>
  (await byUuid(db, { teamId, uuid })).rows[0]?.id;

/** A dependency of a version: another version, or data at a storage URI. */
export type Need = { readonly needs_version_id: number } | { readonly needs_uri: string };

/**
 * Sets the dependencies of a version, replacing those stored before. They count as long texts of the team. Returns by how
 * many bytes they take more space than those before.
 */
export async function putDependencies(
  db: Db,
  { teamId, versionId }: { readonly teamId: number; readonly versionId: number },
  needs: readonly Need[],
): Promise<number> {
  const added = sumOf(needs.map(needBytes)) - (await dependencyBytes(db, versionId));
  await addUsage(db, teamId, "texts", added);
  await db.deleteFrom("dataset_dependencies").where("version_id", "=", versionId).execute();
  const rows = needs.map((need) => ({ version_id: versionId, needs_version_id: null, needs_uri: null, ...need }));
  await eachPart(rows, (part) =>
    db
      .insertInto("dataset_dependencies")
      .values(part)
      .onConflict((c) => c.doNothing())
      .execute(),
  );
  return added;
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

/** Bytes of a dependency beside its URI: its row and its entries in the indexes. */
const rowBytes = 100;
/** A URI is in the row and in an index. A longer one takes a page of its own in the index. */
const longUri = 480;
const pageBytes = 4096;

/** Returns the bytes that a dependency takes in the store. */
function needBytes(need: Need): number {
  if (!("needs_uri" in need)) return rowBytes;
  const bytes = Buffer.byteLength(need.needs_uri);
  return rowBytes + 2 * bytes + (bytes > longUri ? pageBytes : 0);
}

async function dependencyBytes(db: Db, versionId: number): Promise<number> {
  const bytes = sql`coalesce(octet_length(needs_uri), 0)`;
  const { total } = await db
    .selectFrom("dataset_dependencies")
    .select(
      sql<number | null>`sum(${sql.lit(rowBytes)} + 2 * ${bytes}
        + case when ${bytes} > ${sql.lit(longUri)} then ${sql.lit(pageBytes)} else 0 end)`.as("total"),
    )
    .where("version_id", "=", versionId)
    .executeTakeFirstOrThrow();
  return Number(total ?? 0);
}

/**
 * Links a job to a version that it created or reused. An existing link stays: a job that created the version and reuses
 * it later remains its creator.
 */
export async function linkJob(db: Db, jobId: string, versionId: number, isCreator: boolean): Promise<void> {
  await db
    .insertInto("dataset_version_jobs")
    .values({ job_id: jobId, version_id: versionId, is_creator: isCreator ? 1 : 0 })
    .onConflict((c) => c.doNothing())
    .execute();
  if (isCreator) await setOrigin(db, { jobId, versionId });
}

/** For a version without `job_id`, sets `origin_job_id` from the job that is linked to the version as its creator. */
const setOrigin = prepared<{ jobId: string; versionId: number }>()((db, value) =>
  db
    .updateTable("dataset_versions")
    .set({
      origin_job_id: sql<string | null>`(select coalesce(jobs.origin_id, jobs.id) from jobs
        where jobs.id = ${value("jobId")} and jobs.team_id = dataset_versions.team_id)`,
    })
    .where("id", "=", value("versionId"))
    .where("origin_job_id", "is", null)
    .where("job_id", "is", null),
);

/**
 * Marks versions as removed. Their rows in the store stay, because version numbers are never reused. Their exports can
 * no longer be downloaded.
 */
export const markRemoved = (db: Db, teamId: number, uuids: readonly string[], now: string): Promise<void> =>
  eachPart(uuids, async (part) => {
    const removed = await db
      .updateTable("dataset_versions")
      .set({ status: versionStatus.removed, removed_at: now })
      .where("team_id", "=", teamId)
      .where("uuid", "in", part)
      .where("removed_at", "is", null)
      .returning("id")
      .execute();
    await markExportsRemovedOf(
      db,
      removed.map(({ id }) => id),
    );
  });

/** Versions per statement. */
const uuidsAtOnce = 5000;

/** Returns the uuids of all versions whose rows are in the team's warehouse. Reads them in pages with pauses. */
export async function liveUuids(db: Db, teamId: number): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ; ) {
    const rows = await db
      .selectFrom("dataset_versions")
      .select("uuid")
      .where("team_id", "=", teamId)
      .where("uuid", ">", after)
      .where("rows_table", "is not", null)
      .where("removed_at", "is", null)
      .orderBy("uuid")
      .limit(uuidsAtOnce)
      .execute();
    for (const { uuid } of rows) found.push(uuid);
    if (rows.length < uuidsAtOnce) return found;
    after = rows.at(-1)?.uuid ?? "";
    await nextTurn();
  }
}

export const markRestored = (db: Db, teamId: number, uuids: readonly string[]): Promise<void> =>
  eachPart(uuids, (part) =>
    db
      .updateTable("dataset_versions")
      .set({ status: versionStatus.complete, removed_at: null })
      .where("team_id", "=", teamId)
      .where("uuid", "in", part)
      .execute(),
  );

/** Lists show at most this many characters of an error message or stack. */
const mostOfError = 256;

/** Columns of a version for lists, without large texts. */
const listed = [
  "id",
  "uuid",
  "dataset_id",
  "version",
  "major",
  "minor",
  "patch",
  "status",
  "created_at",
  "finished_at",
  "num_objects",
  "size",
  "job_id",
  "rows_table",
  "removed_at",
  beginning("error_message", mostOfError).as("error_message"),
  beginning("error_stack", mostOfError).as("error_stack"),
] as const;
export type ListedVersionRow = Pick<
  DatasetVersionRow,
  Extract<(typeof listed)[number], string> | "error_message" | "error_stack"
>;

/**
 * Largest number of versions that one statement reads, and that a response has for one dataset. If a dataset has more
 * versions, only the newest are returned.
 */
export const mostVersions = 10_000;

const shownVersions = (db: Db, datasetIds: readonly number[], includeRemoved: boolean) => {
  const query = db.selectFrom("dataset_versions").where("dataset_id", "in", datasetIds);
  return includeRemoved ? query : query.where("status", "=", versionStatus.complete);
};

/** Returns the number of versions of each dataset, by dataset id. */
export async function countVersions(
  db: Db,
  datasetIds: readonly number[],
  includeRemoved: boolean,
): Promise<Map<number, number>> {
  if (datasetIds.length === 0) return new Map();
  const query = shownVersions(db, datasetIds, includeRemoved).groupBy("dataset_id");
  const rows = await query.select(["dataset_id", db.fn.countAll().as("count")]).execute();
  return new Map(rows.map(({ dataset_id, count }) => [dataset_id, Number(count)]));
}

/** Whether a dataset has more than this many versions. Reads no more of them than needed to tell. */
export const hasMoreVersions = async (db: Db, datasetId: number, count: number, includeRemoved: boolean) =>
  (await shownVersions(db, [datasetId], includeRemoved).select("id").offset(count).limit(1).execute()).length > 0;

/**
 * Lists the versions of some datasets, oldest first within each dataset. If there are more than the limit, only the
 * newest are listed.
 */
export async function listVersions(
  db: Db,
  datasetIds: readonly number[],
  includeRemoved: boolean,
): Promise<ListedVersionRow[]> {
  const query = shownVersions(db, datasetIds, includeRemoved).select(listed).orderBy("dataset_id", "desc");
  return (await newestFirst(query).limit(mostVersions).execute()).reverse();
}

export const newestFirst = <Query extends Ordered>(query: Query): Query =>
  query.orderBy("major", "desc").orderBy("minor", "desc").orderBy("patch", "desc") as Query;
interface Ordered {
  orderBy(column: "major" | "minor" | "patch", direction: "desc"): Ordered;
}

/**
 * Lists the versions of a dataset, oldest first, with the sizes of large texts in place of the texts. If there are more
 * than the limit, only the newest are listed.
 */
export const sizedVersionsOf = async (db: Db, datasetId: number, includeRemoved: boolean) =>
  (await sizedVersions(db, datasetId, includeRemoved)).reverse();

const sizedVersions = (db: Db, datasetId: number, includeRemoved: boolean) =>
  newestFirst(shownVersions(db, [datasetId], includeRemoved).select(listed))
    .select([
      "content_hash",
      sql<number>`octet_length(schema) + octet_length(feature_schema)`.as("schema_bytes"),
      sql<number>`coalesce(octet_length(preview), 0) + octet_length(query_script) + octet_length(script_output)
        + octet_length(sources)`.as("text_bytes"),
    ])
    .limit(mostVersions)
    .execute();
export type SizedVersionRow = Awaited<ReturnType<typeof sizedVersionsOf>>[number];

const schemas = ["schema", "feature_schema"] as const;
const texts = ["preview", "query_script", "script_output", "sources"] as const;
export type VersionSchemas = Pick<DatasetVersionRow, (typeof schemas)[number]>;
export type VersionTexts = Pick<DatasetVersionRow, (typeof texts)[number]>;

export const schemasOf = (db: Db, ids: readonly number[]): Promise<Map<number, VersionSchemas>> =>
  largeOf(ids, (part) =>
    db
      .selectFrom("dataset_versions")
      .select(["id", ...schemas])
      .where("id", "in", part)
      .execute(),
  );

export const textsOf = (db: Db, ids: readonly number[]): Promise<Map<number, VersionTexts>> =>
  largeOf(ids, (part) =>
    db
      .selectFrom("dataset_versions")
      .select(["id", ...texts])
      .where("id", "in", part)
      .execute(),
  );

async function largeOf<Row extends { readonly id: number }>(
  ids: readonly number[],
  read: (part: readonly number[]) => Promise<Row[]>,
): Promise<Map<number, Row>> {
  const found = new Map<number, Row>();
  for (const part of parts(ids)) for (const row of await read(part)) found.set(row.id, row);
  return found;
}

/** Returns the version with this number, even if it was removed; without a number, the newest live version. */
export const findVersion = (
  db: Db,
  datasetId: number,
  number: Pick<DatasetVersionRow, "major" | "minor" | "patch"> | undefined,
): Promise<ListedVersionRow | undefined> => {
  const all = newestFirst(db.selectFrom("dataset_versions").where("dataset_id", "=", datasetId).select(listed));
  const wanted = number
    ? all.where("major", "=", number.major).where("minor", "=", number.minor).where("patch", "=", number.patch)
    : all.where("status", "=", versionStatus.complete);
  return wanted.limit(1).executeTakeFirst();
};

/** Returns the numbers of the newest live versions, oldest first. */
export const newestNumbers = async (db: Db, datasetId: number, limit: number): Promise<string[]> =>
  (
    await newestFirst(shownVersions(db, [datasetId], false).select("version"))
      .limit(limit)
      .execute()
  )
    .map(({ version }) => version)
    .reverse();

/** Returns the version with the highest number, even if it was removed. */
export const newestVersion = (
  db: Db,
  datasetId: number,
): Promise<Pick<DatasetVersionRow, "major" | "minor" | "patch"> | undefined> =>
  newestFirst(db.selectFrom("dataset_versions").where("dataset_id", "=", datasetId))
    .select(["major", "minor", "patch"])
    .limit(1)
    .executeTakeFirst();

/**
 * Returns the uuid of the newest version whose rows are, or were, in the team's warehouse: a live one if there is any.
 * Live versions come first in the order, because their status is the smaller number.
 */
export const storedVersion = async (db: Db, datasetId: number): Promise<string | undefined> =>
  (
    await newestFirst(
      db
        .selectFrom("dataset_versions")
        .where("dataset_id", "=", datasetId)
        .where("rows_table", "is not", null)
        .orderBy("status"),
    )
      .select("uuid")
      .limit(1)
      .executeTakeFirst()
  )?.uuid;

export const getVersion = (db: Db, id: number): Promise<DatasetVersionRow | undefined> =>
  db.selectFrom("dataset_versions").selectAll().where("id", "=", id).executeTakeFirst();

/**
 * Returns the bytes that the version's texts take in the store. The texts remain after the version is removed, because
 * a restored warehouse may bring the version back.
 */
export const textBytesOf = (row: NewVersionRow): number =>
  [row.query_script, row.schema, row.feature_schema, row.preview ?? "", row.sources, row.error_stack, row.script_output]
    .map((text) => Buffer.byteLength(text))
    .reduce((sum, bytes) => sum + bytes, 0);

/**
 * Inserts a version and returns its id. Fails with a unique violation if the version number is taken; on PostgreSQL the
 * whole write is then retried.
 */
export async function insertVersion(db: Db, row: NewVersionRow): Promise<number> {
  await addUsage(db, row.team_id, "texts", textBytesOf(row));
  const origin_job_id = originOf(row.job_id, row.team_id);
  const query = db.insertInto("dataset_versions").values({ ...row, origin_job_id });
  return (await query.returning("id").executeTakeFirstOrThrow()).id;
}

/** Marks versions and their exports as removed. Returns how many of the versions were complete before. */
export async function markVersionsRemoved(db: Db, ids: readonly number[], now: string): Promise<number> {
  let count = 0;
  await eachPart(ids, async (part) => {
    const { numUpdatedRows } = await db
      .updateTable("dataset_versions")
      .set({ status: versionStatus.removed, removed_at: now })
      .where("id", "in", part)
      .where("status", "=", versionStatus.complete)
      .executeTakeFirst();
    count += Number(numUpdatedRows);
  });
  await markExportsRemovedOf(db, ids);
  return count;
}

/** Whether a job is linked to this many versions or more. Reads no more of the links than needed to tell. */
export const hasManyVersions = async (db: Db, jobId: string, count: number): Promise<boolean> => {
  const links = db.selectFrom("dataset_version_jobs").select("version_id").where("job_id", "=", jobId);
  return (
    (
      await links
        .orderBy("version_id")
        .offset(count - 1)
        .limit(1)
        .execute()
    ).length > 0
  );
};

/**
 * Lists complete versions that a job created or reused, with dataset names and version numbers, in the order of their
 * ids and after this id.
 */
export const versionsOfJob = (db: Db, teamId: number, jobId: string, after: number, limit: number) =>
  db
    .selectFrom("dataset_version_jobs")
    .innerJoin("dataset_versions", "dataset_versions.id", "dataset_version_jobs.version_id")
    .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
    .innerJoin("projects", "projects.id", "datasets.project_id")
    .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
    .select(["namespaces.name as namespace", "projects.name as project", "datasets.name", "dataset_versions.version"])
    .select("dataset_version_jobs.version_id")
    .where("dataset_version_jobs.job_id", "=", jobId)
    .where("dataset_version_jobs.version_id", ">", after)
    .where("dataset_versions.team_id", "=", teamId)
    .where("dataset_versions.status", "=", versionStatus.complete)
    .orderBy("dataset_version_jobs.version_id")
    .limit(limit)
    .execute();
