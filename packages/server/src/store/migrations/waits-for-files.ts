/**
 * Migration: adds a column that says what a queued job waits for besides slots. Jobs that are queued at the upgrade
 * wait only for slots.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const statements = [
  `alter table queue add column waits_for text not null default ''`,
  // One range of the index for retries and one for failed downloads, each sorted by time.
  `drop index queue_by_time`,
  `create index queue_by_time on queue (waits_for, not_before, job_id) where not_before > ''`,
  `create index queue_by_files on queue (cluster_id, priority, job_id) where waits_for = 'files'`,
];

export async function waitsForFiles(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
