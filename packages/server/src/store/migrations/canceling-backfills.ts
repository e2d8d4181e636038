/** Migration: a backfill is canceled in several writes. The row says who cancels it until all its pipelines are. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function cancelingBackfills(db: Kysely<Tables>): Promise<void> {
  await sql`alter table backfills add column canceling text`.execute(db);
}
