/**
 * Queries on notices. A notice says that the trigger dataset of a schedule has new versions, and when the schedule
 * fires.
 */
import { isUnfinished, pipelineStatuses } from "@millrace/contract";
import type { Selectable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";

export type NoticeRow = Selectable<Tables["schedule_notices"]>;

/** Lists the active schedules that new versions of these datasets fire, ordered by id. */
export async function schedulesFiredBy(db: Db, datasetIds: readonly number[]) {
  const found: Pick<Selectable<Tables["schedules"]>, "id" | "team_id" | "trigger_dataset_id" | "quiet_seconds">[] = [];
  await eachPart(datasetIds, async (part) => {
    const query = db
      .selectFrom("schedules")
      .select(["id", "team_id", "trigger_dataset_id", "quiet_seconds"])
      .where("trigger_dataset_id", "in", part)
      .where("is_paused", "=", 0);
    found.push(...(await query.execute()));
  });
  return found.sort((a, b) => a.id - b.id);
}

/**
 * Inserts a notice that the schedule's dataset has a new version. If the schedule already has a notice, replaces it;
 * `merge` combines the `chain` columns of the old notice and the new one.
 */
export async function putNotice(db: Db, notice: NoticeRow, merge: (a: string, b: string) => string): Promise<void> {
  for (;;) {
    const insert = db.insertInto("schedule_notices").values(notice);
    const { numInsertedOrUpdatedRows: inserted } = await insert.onConflict((c) => c.doNothing()).executeTakeFirst();
    if (inserted === 1n) return;
    // If a firing took the notice in between, there is none to update and the insert is tried again.
    const there = await lockNotice(db, notice.schedule_id);
    if (!there) continue;
    const changes = { ...notice, chain: merge(there.chain, notice.chain) };
    await db.updateTable("schedule_notices").set(changes).where("schedule_id", "=", notice.schedule_id).execute();
    return;
  }
}

const lockNotice = (db: Db, scheduleId: number): Promise<NoticeRow | undefined> => {
  const query = db.selectFrom("schedule_notices").selectAll().where("schedule_id", "=", scheduleId);
  return (isPostgres(db) ? query.forUpdate() : query).executeTakeFirst();
};

export type DueNotice = Pick<NoticeRow, "schedule_id" | "due_at"> & { readonly team_id: number };

const endedStatuses = pipelineStatuses.filter((status) => !isUnfinished(status));

const due = prepared<{ now: string; limit: number }>()((db, value) =>
  db
    .selectFrom("schedule_notices")
    .innerJoin("schedules", "schedules.id", "schedule_notices.schedule_id")
    .leftJoin("pipelines", "pipelines.id", "schedules.latest_pipeline_id")
    .select(["schedule_notices.schedule_id", "schedule_notices.due_at", "schedules.team_id"])
    .where("due_at", "<=", value("now"))
    .where((eb) =>
      eb.or([
        eb("schedules.overlap", "=", "allow"),
        eb("pipelines.id", "is", null),
        eb("pipelines.status", "in", endedStatuses),
      ]),
    )
    // Fair order: the first notice of each team, then the second of each.
    .orderBy((eb) =>
      eb.fn.agg<number>("row_number").over((of) => of.partitionBy("schedules.team_id").orderBy("due_at")),
    )
    .orderBy("schedule_notices.schedule_id")
    .limit(value("limit")),
);
/** Lists notices of new dataset versions whose quiet period has passed and whose schedule may start another run now. */
export const dueNotices = async (db: Db, now: string, limit: number): Promise<DueNotice[]> =>
  (await due(db, { now, limit })).rows;

/**
 * Deletes a due notice of a new dataset version, in order to fire its schedule. Returns undefined if another server
 * took the notice, or if a further version postponed it.
 */
export const takeNotice = (db: Db, { schedule_id, due_at }: DueNotice): Promise<NoticeRow | undefined> =>
  db
    .deleteFrom("schedule_notices")
    .where("schedule_id", "=", schedule_id)
    .where("due_at", "=", due_at)
    .returningAll()
    .executeTakeFirst();

/**
 * Postpones a due notice of a new dataset version. Returns false if another server took the notice, or if a further
 * version postponed it.
 */
export async function postponeNotice(db: Db, { schedule_id, due_at }: DueNotice, to: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("schedule_notices")
    .set({ due_at: to })
    .where("schedule_id", "=", schedule_id)
    .where("due_at", "=", due_at)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export const dropNotice = (db: Db, scheduleId: number) =>
  db.deleteFrom("schedule_notices").where("schedule_id", "=", scheduleId).execute();

/**
 * Makes notices of new dataset versions due at once if their creation time is after `time`, because only a wrong clock
 * can have set such a time. Returns the number of these notices.
 */
export async function mendNotices(db: Db, time: string, now: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable("schedule_notices")
    .set({ noticed_at: now, due_at: now })
    .where("noticed_at", ">", time)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Returns, by schedule id, the dataset whose new versions fire the schedule. If a new version has not fired the
 * schedule yet, the row also has that version and the time at which the schedule fires.
 */
export async function triggersOf(db: Db, scheduleIds: readonly number[]) {
  const found = new Map<number, Awaited<ReturnType<typeof triggersOfPart>>[number]>();
  await eachPart(scheduleIds, async (part) => {
    for (const row of await triggersOfPart(db, part)) found.set(row.id, row);
  });
  return found;
}

const triggersOfPart = (db: Db, ids: readonly number[]) =>
  db
    .selectFrom("schedules")
    .innerJoin("datasets", "datasets.id", "schedules.trigger_dataset_id")
    .innerJoin("projects", "projects.id", "datasets.project_id")
    .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
    .leftJoin("schedule_notices", "schedule_notices.schedule_id", "schedules.id")
    .select(["schedules.id", "namespaces.name as namespace", "projects.name as project", "datasets.name as name"])
    .select(["schedule_notices.version", "schedule_notices.due_at"])
    .where("schedules.id", "in", ids)
    .execute();

/**
 * Returns the ids of the datasets that a pipeline creates. These are the datasets that have a version from one of the
 * jobs that the pipeline repeats.
 */
export async function datasetsMadeBy(db: Db, pipelineId: string): Promise<ReadonlySet<number>> {
  const runs = await db.selectFrom("pipeline_runs").select("job_id").where("pipeline_id", "=", pipelineId).execute();
  const made = new Set<number>();
  const read = async (part: readonly { readonly job_id: string }[]) => {
    const ids = part.map(({ job_id }) => job_id);
    const query = db.selectFrom("dataset_versions").select("dataset_id").distinct().where("job_id", "in", ids);
    for (const { dataset_id } of await query.execute()) made.add(dataset_id);
  };
  await eachPart(runs, read, makersAtOnce);
  return made;
}

/** Jobs per statement: each may have created thousands of versions. */
const makersAtOnce = 50;

/** Lists all schedules of a team that new versions of a dataset fire, including paused ones. */
export const triggeredSchedules = (db: Db, teamId: number) =>
  db
    .selectFrom("schedules")
    .select(["id", "name", "pipeline_id", "trigger_dataset_id"])
    .where("team_id", "=", teamId)
    .where("trigger_dataset_id", "is not", null)
    .orderBy("id")
    .execute();
