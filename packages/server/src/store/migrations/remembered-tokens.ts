/**
 * Migration: a job remembers the access token with which it was created, so that its own token can start nothing new
 * once that token is revoked or has expired. Existing jobs remember none. There is no foreign key, because it would lock
 * the token's row whenever a job is created.
 */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function rememberedTokens(db: Kysely<Tables>): Promise<void> {
  await sql`alter table jobs add column token_id integer`.execute(db);
}
