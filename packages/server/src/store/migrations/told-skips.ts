/**
 * Migration: limits notifications about a series of skipped ticks (scheduled times) to the first one and then one a
 * day. Earlier skips count as reported.
 */
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
