/**
 * Migration: counts long environment variables of jobs towards the team's text quota, and makes them expire like long
 * texts.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function countedVariables(db: Kysely<Tables>): Promise<void> {
  const statements = [
    `drop index jobs_with_texts`,
    `create index jobs_with_texts on jobs (finished_at, id) where (cut <> '' or length(environment) > 8192) and texts_settled_at is null and finished_at is not null`,
    // Jobs that were settled before this version kept their variables, so they are settled once more.
    `update jobs set texts_settled_at = null where length(environment) > 8192 and texts_settled_at is not null`,
    `insert into team_usage (team_id, datasets, uploads, logs) select distinct team_id, 0, 0, 0 from jobs where length(environment) > 8192 and team_id not in (select team_id from team_usage)`,
    `update team_usage set texts = texts + (select coalesce(sum(length(environment)), 0) from jobs where jobs.team_id = team_usage.team_id and length(environment) > 8192)`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
