/** The newest time at which the clock was believed: one row. */
import type { Db } from "./store.ts";

const id = 1;

export const readClockMark = async (db: Db): Promise<string | undefined> =>
  (await db.selectFrom("clock_marks").select("seen_at").where("id", "=", id).executeTakeFirst())?.seen_at;

export const writeClockMark = (db: Db, seen_at: string) =>
  db
    .insertInto("clock_marks")
    .values({ id, seen_at })
    .onConflict((c) => c.column("id").doUpdateSet({ seen_at }))
    .execute();
