/**
 * Migration: the many pipelines of a schedule are paused and resumed in several writes. The schedule says who asked for
 * it until all of them are. They are found among the many that the schedule has started in its life by their status.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function switchingSchedules(db: Kysely<Tables>): Promise<void> {
  await sql`alter table schedules add column switching text`.execute(db);
  await sql`create index pipelines_by_schedule_status on pipelines (schedule_id, status, id) where schedule_id is not null`.execute(
    db,
  );
  await sql`create index schedules_switching on schedules (id) where switching is not null`.execute(db);
}
