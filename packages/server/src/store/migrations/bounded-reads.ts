/**
 * Migration: adds indexes with which a read takes few rows, however long the history is. The newest live version of a
 * dataset, and a version that has rows in the team's warehouse, are found with one row, however many versions were
 * removed. Open invitations are found without those that were used.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const newestFirst = `(dataset_id, status, major desc, minor desc, patch desc)`;
const statements = [
  `create index dataset_versions_by_status on dataset_versions ${newestFirst}`,
  `create index dataset_versions_stored on dataset_versions ${newestFirst} where rows_table is not null`,
  `create index invitations_open on invitations (team_id, id) where used_at is null and revoked_at is null`,
];

export async function boundedReads(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
