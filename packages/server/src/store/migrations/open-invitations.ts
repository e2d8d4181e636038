/** Migration: adds an index of invitations that were neither used nor revoked, for their list. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function openInvitations(db: Kysely<Tables>): Promise<void> {
  const open = "used_at is null and revoked_at is null";
  await sql.raw(`create index invitations_open on invitations (team_id, id) where ${open}`).execute(db);
}
