/**
 * Migration: adds the firing history and failure counters of schedules, pausable tasks with their last error, and
 * users' time zones. The tasks table is created anew because SQLite cannot drop a NOT NULL constraint.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function scheduleHealth(db: Kysely<Tables>, { identity }: { readonly identity: string }): Promise<void> {
  const statements = [
    `create table firings (id ${identity}, schedule_id integer not null references schedules, tick text not null, ticks integer not null, at text not null, outcome text not null, reason text, pipeline_id text)`,
    `create index firings_by_schedule on firings (schedule_id, id)`,
    `alter table schedules add column skips integer not null default 0`,
    `alter table schedules add column skips_in_row integer not null default 0`,
    `alter table schedules add column skip_reason text`,
    `alter table schedules add column failures_in_row integer not null default 0`,
    `alter table schedules add column failure_reason text`,
    `update schedules set failures_in_row = 1, failure_reason = substr(last_error, 1, 1000) where last_error is not null`,
    `create table tasks_anew (job_id text primary key, team_id integer not null, next_run text, fired integer not null, skips integer not null default 0, last_error text, run_as text not null default '')`,
    `insert into tasks_anew (job_id, team_id, next_run, fired, run_as) select job_id, team_id, next_run, fired, run_as from tasks`,
    `drop table tasks`,
    `alter table tasks_anew rename to tasks`,
    `create index tasks_by_time on tasks (next_run) where next_run is not null`,
    `create index tasks_by_team on tasks (team_id, next_run, job_id) where next_run is not null`,
    `create index tasks_of_team on tasks (team_id, job_id)`,
    `alter table users add column timezone text`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
