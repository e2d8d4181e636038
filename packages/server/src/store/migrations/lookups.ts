/**
 * Migration: adds indexes for what is looked up by its owner. Every request looks up the teams of its user, so without
 * them its cost would grow with the members of all teams; likewise the credentials of a job, the tokens and sessions of
 * a user, and the exports that are not finished.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

const statements = [
  `create index memberships_by_user on memberships (user_id, team_id)`,
  `create index credentials_by_team on credentials (team_id, name)`,
  `create index credentials_by_user on credentials (user_id, name)`,
  `create index tokens_by_user on tokens (user_id, id) where revoked_at is null`,
  `create index tokens_not_revoked on tokens (id) where revoked_at is null`,
  `create index sessions_by_user on sessions (user_id)`,
  `create index sign_in_links_by_user on sign_in_links (user_id)`,
  `create index exports_by_status on exports (status, team_id, id)`,
];

export async function lookups(db: Kysely<Tables>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
