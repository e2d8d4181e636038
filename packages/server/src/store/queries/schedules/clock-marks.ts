/** Queries on the last times at which the server trusted its clock: one for deletions, one for firing schedules. */
import type { Db } from "../../drivers/store.ts";

const ids = { deleted: 1, fired: 2 } as const;

type Mark = keyof typeof ids;

export const readClockMark = async (db: Db, mark: Mark): Promise<string | undefined> =>
  (await db.selectFrom("clock_marks").select("seen_at").where("id", "=", ids[mark]).executeTakeFirst())?.seen_at;

export const writeClockMark = (db: Db, mark: Mark, seen_at: string) =>
  db
    .insertInto("clock_marks")
    .values({ id: ids[mark], seen_at })
    .onConflict((c) => c.column("id").doUpdateSet({ seen_at }))
    .execute();

/** Advances a clock mark, but never moves it back, since another server may have written a later time. */
export const advanceClockMark = (db: Db, mark: Mark, seen_at: string) =>
  db
    .insertInto("clock_marks")
    .values({ id: ids[mark], seen_at })
    .onConflict((c) => c.column("id").doUpdateSet({ seen_at }).where("clock_marks.seen_at", "<", seen_at))
    .execute();
