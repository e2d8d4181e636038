/** Migration: a row of skips is told once, and once a day while it lasts. What was skipped before counts as told. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function toldSkips(db: Kysely<Tables>): Promise<void> {
  const statements = [
    `alter table schedules add column skip_told_on text`,
    `alter table schedules add column skips_told integer not null default 0`,
    `update schedules set skips_told = skips`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
