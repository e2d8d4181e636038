/** Migration: adds what a queued job waits for besides slots. What is queued at the upgrade waits for nothing else. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const statements = [
  `alter table queue add column waits_for text not null default ''`,
  // Retries and jobs whose files are tried again sort apart, each by time.
  `drop index queue_by_time`,
  `create index queue_by_time on queue (waits_for, not_before, job_id) where not_before > ''`,
  `create index queue_by_files on queue (cluster_id, priority, job_id) where waits_for = 'files'`,
];

export async function waitsForFiles(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
