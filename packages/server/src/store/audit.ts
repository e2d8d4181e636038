/** Audit rows in the store: added, read, removed by age; never changed. */
import type { Insertable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const insertAudit = (db: Db, row: Insertable<Tables["audit"]>) => db.insertInto("audit").values(row).execute();

/** Up to so many; returns how many. */
export async function deleteAuditBefore(db: Db, before: string, limit: number): Promise<number> {
  const old = db.selectFrom("audit").select("id").where("at", "<", before).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("audit").where("id", "in", old).executeTakeFirst();
  return Number(numDeletedRows);
}
