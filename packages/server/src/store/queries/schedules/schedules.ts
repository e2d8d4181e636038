/** Queries on schedules: when they fire next, which ticks (scheduled times) wait, and which server claims a tick. */
import { isUnfinished, pipelineStatuses } from "@millrace/contract";
import type { Insertable, Selectable, Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import type { Page } from "../pages.ts";
import { beginning } from "../short-texts.ts";
import { deleteFirings } from "./firings.ts";

export type ScheduleRow = Selectable<Tables["schedules"]>;

/** Inserts a schedule and returns its id; undefined if the name is taken. */
export async function insertSchedule(db: Db, row: Insertable<Tables["schedules"]>): Promise<number | undefined> {
  const inserted = await db
    .insertInto("schedules")
    .values(row)
    .onConflict((c) => c.columns(["team_id", "name"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted?.id;
}

const nth = prepared<{ teamId: number; offset: number }>()((db, value) =>
  db.selectFrom("schedules").select("id").where("team_id", "=", value("teamId")).limit(1).offset(value("offset")),
);
/** Whether the team has at least this many schedules; counts no further. */
export const atLeastSchedules = async (db: Db, teamId: number, count: number): Promise<boolean> =>
  (await nth(db, { teamId, offset: count - 1 })).rows.length > 0;

export const findSchedule = (db: Db, teamId: number, id: number): Promise<ScheduleRow | undefined> =>
  db.selectFrom("schedules").selectAll().where("id", "=", id).where("team_id", "=", teamId).executeTakeFirst();

export const findScheduleByName = (db: Db, teamId: number, name: string): Promise<ScheduleRow | undefined> =>
  db.selectFrom("schedules").selectAll().where("team_id", "=", teamId).where("name", "=", name).executeTakeFirst();

/** Lists a team's schedules by name, starting after the name `after`. */
export function listSchedules(
  db: Db,
  teamId: number,
  after: string | undefined,
  limit: number,
): Promise<ScheduleRow[]> {
  const query = db
    .selectFrom("schedules")
    .selectAll("schedules")
    .select(beginning<string | null>("last_error").as("last_error"))
    .where("schedules.team_id", "=", teamId)
    .orderBy("schedules.name")
    .limit(limit);
  return (after === undefined ? query : query.where("schedules.name", ">", after)).execute();
}

/** Reads a schedule and locks its row until the write ends. SQLite has only one writer and needs no lock. */
export const lockSchedule = (db: Db, id: number): Promise<ScheduleRow | undefined> => {
  const query = db.selectFrom("schedules").selectAll().where("id", "=", id);
  return (isPostgres(db) ? query.forUpdate() : query).executeTakeFirst();
};

export const updateSchedule = (db: Db, id: number, changes: Updateable<Tables["schedules"]>) =>
  db.updateTable("schedules").set(changes).where("id", "=", id).execute();

/** Number of skipped ticks (scheduled times) now and at the last report to receivers, and the date of that report. */
export type ToldSkips = Pick<ScheduleRow, "skips" | "skips_told" | "skip_told_on">;

/** Counts ticks (scheduled times) that started no pipeline, and stores the reason. Returns the new counts. */
export const countSkips = (db: Db, id: number, count: number, skip_reason: string): Promise<ToldSkips> =>
  db
    .updateTable("schedules")
    .set((eb) => ({ skips: eb("skips", "+", count), skips_in_row: eb("skips_in_row", "+", count), skip_reason }))
    .where("id", "=", id)
    .returning(["skips", "skips_told", "skip_told_on"])
    .executeTakeFirstOrThrow();

/**
 * Resets the counter of skipped ticks (scheduled times), because a tick started a pipeline. If this tick did not wait
 * and the tick before it was not skipped, the current series of skips ends: the next skip is then reported at once.
 */
export const forgetSkips = (db: Db, id: number, hadWaited: boolean) =>
  db
    .updateTable("schedules")
    .set((eb) => ({
      skips_in_row: 0,
      skip_reason: null,
      ...(!hadWaited && { skip_told_on: eb.case().when("skips_in_row", ">", 0).then(eb.ref("skip_told_on")).end() }),
    }))
    .where("id", "=", id)
    .execute();

/** Counts a failure of a schedule, which is a failed run or a tick (scheduled time) that could not run. */
export const countFailure = (db: Db, id: number, failure_reason: string) =>
  db
    .updateTable("schedules")
    .set((eb) => ({ failures_in_row: eb("failures_in_row", "+", 1), failure_reason }))
    .where("id", "=", id)
    .execute();

/** Resets the failure counter because a run completed. */
export const forgetFailures = (db: Db, id: number) =>
  db
    .updateTable("schedules")
    .set({ failures_in_row: 0, failure_reason: null })
    .where("id", "=", id)
    .where("failures_in_row", ">", 0)
    .execute();

export async function deleteSchedule(db: Db, id: number): Promise<void> {
  await deleteFirings(db, id);
  await db.deleteFrom("schedules").where("id", "=", id).execute();
}

const teamsWithDue = prepared<{ now: string }>()((db, value) =>
  db
    .selectFrom("teams")
    .select("id")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("schedules")
          .select("schedules.id")
          .whereRef("schedules.team_id", "=", "teams.id")
          .where("next_run", "<=", value("now")),
      ),
    )
    .orderBy("id"),
);
/** Returns the teams with a due schedule. Costs one index lookup per team, however many schedules are due. */
export const teamsWithDueSchedules = async (db: Db, now: string): Promise<number[]> =>
  (await teamsWithDue(db, { now })).rows.map(({ id }) => id);

/** A due schedule; also the cursor of a paged walk over due schedules. */
export type DueSchedule = { readonly id: number; readonly next_run: string };

const due = prepared<{ teamId: number; now: string; afterRun: string; afterId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("schedules")
    .select(["id", "next_run"])
    .where("team_id", "=", value("teamId"))
    .where("next_run", "<=", value("now"))
    .where((eb) => eb(eb.refTuple("next_run", "id"), ">", eb.tuple(value("afterRun"), value("afterId"))))
    .orderBy("next_run")
    .orderBy("id")
    .limit(value("limit")),
);
/** Returns a page of the team's due schedules, earliest first. */
export const dueSchedules = async (db: Db, teamId: number, now: string, { after, limit }: Page<DueSchedule>) =>
  (await due(db, { teamId, now, afterRun: after?.next_run ?? "", afterId: after?.id ?? 0, limit }))
    .rows as DueSchedule[];

/** Lists the team's schedules that will fire, earliest first, starting after the cursor `after`. */
export const nextSchedules = (db: Db, teamId: number, after: DueSchedule, limit: number) =>
  db
    .selectFrom("schedules")
    .select(["id", "name", "next_run", "start_after", "cron_expression", "timezone"])
    .where("team_id", "=", teamId)
    .where("next_run", "is not", null)
    .where((eb) => eb(eb.refTuple("next_run", "id"), ">", eb.tuple(after.next_run, after.id)))
    .orderBy("next_run")
    .orderBy("id")
    .limit(limit)
    .$narrowType<{ next_run: string }>()
    .execute();

/** Lists the schedules that next fire after `time`, ordered by id, starting after `afterId`. */
export const schedulesAfter = (db: Db, time: string, afterId: number, limit: number): Promise<ScheduleRow[]> =>
  db
    .selectFrom("schedules")
    .selectAll()
    .where("next_run", ">", time)
    .where("id", ">", afterId)
    .orderBy("id")
    .limit(limit)
    .execute();

/**
 * Moves a schedule from one tick (scheduled time) to the next; `to` is null if there is no next tick. Returns false if
 * another server already claimed this tick.
 */
export async function advanceSchedule(db: Db, id: number, from: string, to: string | null): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("schedules")
    .set({ next_run: to })
    .where("id", "=", id)
    .where("next_run", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

const endedStatuses = pipelineStatuses.filter((status) => !isUnfinished(status));

const waiting = prepared<{ limit: number }>()((db, value) =>
  db
    .selectFrom("schedules")
    .leftJoin("pipelines", "pipelines.id", "schedules.latest_pipeline_id")
    .select(["schedules.id", "schedules.team_id"])
    .where("waiting_since", "is not", null)
    .where((eb) => eb.or([eb("pipelines.id", "is", null), eb("pipelines.status", "in", endedStatuses)]))
    // Fair order: the first schedule of each team, then the second of each.
    .orderBy((eb) =>
      eb.fn.agg<number>("row_number").over((of) => of.partitionBy("schedules.team_id").orderBy("schedules.id")),
    )
    .orderBy("schedules.id")
    .limit(value("limit")),
);
/**
 * Lists schedules with a waiting tick (scheduled time) that can start, because the previous run has ended. Teams take
 * turns.
 */
export const readySchedules = async (db: Db, limit: number) => (await waiting(db, { limit })).rows;

export type Switching = Pick<ScheduleRow, "id" | "team_id" | "is_paused">;

/** Lists schedules some of whose pipelines are still to be paused or resumed, ordered by id. */
export const switchingSchedules = (db: Db, limit: number): Promise<Switching[]> =>
  db
    .selectFrom("schedules")
    .select(["id", "team_id", "is_paused"])
    .where("switching", "is not", null)
    .orderBy("id")
    .limit(limit)
    .execute();

/** Lists active schedules that should have fired before this time but have not, ordered by id. */
export async function lateSchedules(
  db: Db,
  before: string,
  after: number,
  limit: number,
): Promise<{ readonly id: number; readonly next_run: string }[]> {
  const late = db.selectFrom("schedules").select(["id", "next_run"]).where("is_paused", "=", 0);
  const rows = await late.where("next_run", "<", before).where("id", ">", after).orderBy("id").limit(limit).execute();
  return rows.map(({ id, next_run }) => ({ id, next_run: next_run ?? "" }));
}
