/** Queries on the firing history of schedules. Only the newest rows of each schedule are kept. */
import { type FiringOutcome, mostFirings } from "@millrace/contract";
import type { Insertable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

const beyond = prepared<{ scheduleId: number }>()((db, value) =>
  db
    .deleteFrom("firings")
    .where("schedule_id", "=", value("scheduleId"))
    .where("id", "<=", (eb) =>
      eb
        .selectFrom("firings")
        .select("id")
        .where("schedule_id", "=", value("scheduleId"))
        .orderBy("id", "desc")
        .limit(1)
        .offset(mostFirings),
    ),
);

/** Inserts a firing. Deletes the oldest firings of the schedule beyond the limit, so no background sweep is needed. */
export async function insertFiring(db: Db, row: Insertable<Tables["firings"]>): Promise<void> {
  await db.insertInto("firings").values(row).execute();
  await beyond(db, { scheduleId: row.schedule_id });
}

export interface Settled {
  readonly at: string;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly pipeline_id: string | null;
}

/**
 * Records the outcome of the schedule's waiting tick, a scheduled time that had to wait for the previous run. Returns
 * false if the history has no waiting tick.
 */
export async function settleWaitingFiring(db: Db, scheduleId: number, settled: Settled): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("firings")
    .set(settled)
    .where("schedule_id", "=", scheduleId)
    .where("outcome", "=", "waits")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

const newest = prepared<{ scheduleId: number }>()((db, value) =>
  db
    .selectFrom("firings")
    .leftJoin("pipelines", "pipelines.id", "firings.pipeline_id")
    .selectAll("firings")
    .select(["pipelines.name", "pipelines.status", "pipelines.finished_at"])
    .where("firings.schedule_id", "=", value("scheduleId"))
    .orderBy("firings.id", "desc")
    .limit(mostFirings),
);
/** Lists the firings of a schedule, newest first, with the current state of the pipeline that each one started. */
export const firingsOf = async (db: Db, scheduleId: number) => (await newest(db, { scheduleId })).rows;

/** Lists the newest firing of each of these schedules. */
export const newestFirings = (db: Db, scheduleIds: readonly number[]) =>
  db
    .selectFrom("firings")
    .leftJoin("pipelines", "pipelines.id", "firings.pipeline_id")
    .selectAll("firings")
    .select(["pipelines.name", "pipelines.status", "pipelines.finished_at"])
    .where("firings.id", "in", (eb) =>
      eb
        .selectFrom("firings as all")
        .select((of) => of.fn.max("all.id").as("id"))
        .where("all.schedule_id", "in", scheduleIds)
        .groupBy("all.schedule_id"),
    )
    .execute();

export const deleteFirings = (db: Db, scheduleId: number) =>
  db.deleteFrom("firings").where("schedule_id", "=", scheduleId).execute();
