/** Invitations: removed some time after they were used, were revoked or ran out. */
import type { Db } from "./store.ts";

/** Up to so many; returns how many. */
export async function deleteSettledInvitations(db: Db, before: string, limit: number): Promise<number> {
  const settled = db
    .selectFrom("invitations")
    .select("id")
    .where((eb) => eb.or((["expires_at", "used_at", "revoked_at"] as const).map((column) => eb(column, "<", before))))
    .limit(limit);
  const { numDeletedRows } = await db.deleteFrom("invitations").where("id", "in", settled).executeTakeFirst();
  return Number(numDeletedRows);
}
