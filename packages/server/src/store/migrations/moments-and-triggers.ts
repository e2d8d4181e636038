/**
 * Migration: adds the scheduled time (moment) that a pipeline runs for, backfills, and schedules that fire when a
 * dataset gets a new version.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function momentsAndTriggers(db: Kysely<Tables>, { identity }: { readonly identity: string }) {
  const statements = [
    `alter table pipelines add column scheduled_at text`,
    `alter table pipelines add column scheduled_timezone text`,
    `alter table pipelines add column chain text`,
    `alter table schedules add column trigger_dataset_id integer references datasets`,
    `alter table schedules add column quiet_seconds integer not null default 60`,
    `create index schedules_by_trigger on schedules (trigger_dataset_id) where trigger_dataset_id is not null`,
    `create table schedule_notices (schedule_id integer primary key, team_id integer not null, version text not null, chain text not null, noticed_at text not null, due_at text not null)`,
    `create index schedule_notices_by_time on schedule_notices (due_at, schedule_id)`,
    `create table job_chains (job_id text primary key references jobs, chain text not null)`,
    `create table backfills (id ${identity}, team_id integer not null references teams, user_id integer not null references users, pipeline_id text not null, source_name text not null, cron_expression text not null, timezone text not null, from_moment text not null, to_moment text not null, parallel integer not null, on_failure text not null, status text not null, total integer not null, last_error text, created_at text not null, updated_at text not null, finished_at text)`,
    `create index backfills_by_team on backfills (team_id, id)`,
    `create index backfills_running on backfills (id) where status = 'RUNNING'`,
    `create table backfill_moments (backfill_id integer not null references backfills, position integer not null, moment text not null, pipeline_id text, primary key (backfill_id, position))`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
