/**
 * Migration: adds indexes with which the newest live version of a dataset, and a version that has rows in the team's
 * warehouse, are found by reading one row, however many versions the dataset has and however many were removed.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const newestFirst = `(dataset_id, status, major desc, minor desc, patch desc)`;
const statements = [
  `create index dataset_versions_by_status on dataset_versions ${newestFirst}`,
  `create index dataset_versions_stored on dataset_versions ${newestFirst} where rows_table is not null`,
];

export async function versionIndexes(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
