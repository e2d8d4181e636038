/** Migration: adds time limits and retries of jobs, and the table of attempts that were retried. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const statements = [
  `alter table teams add column job_timeout integer`,
  `alter table teams add column job_retries integer`,
  `alter table teams add column job_retry_delay integer`,
  `alter table attempts add column timeout integer`,
  `alter table jobs add column retried integer not null default 0`,
  `create table ended_attempts (job_id text not null references jobs, attempt integer not null, exit_code integer, error_message text, error_stack text, started_at text, finished_at text not null, next_at text not null, primary key (job_id, attempt))`,
  `alter table queue add column not_before text not null default ''`,
  // Rows that wait for a retry sort apart in every index, so dispatch never reads them.
  `drop index queue_order`,
  `create index queue_order on queue (cluster_id, not_before, priority, job_id)`,
  `drop index queue_by_team`,
  `create index queue_by_team on queue (team_id, not_before, cluster_id, priority, job_id)`,
  `create index queue_by_time on queue (not_before, job_id) where not_before > ''`,
];

export async function timeLimitsAndRetries(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
