/** Migration: adds the handle that an engine returns for an attempt. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function attemptHandles(db: Kysely<Tables>): Promise<void> {
  await sql.raw(`alter table attempts add column handle text`).execute(db);
}
