/** Queries on device logins. */
import type { Insertable } from "kysely";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export const insertDeviceLogin = (db: Db, row: Insertable<Tables["device_logins"]>) =>
  db.insertInto("device_logins").values(row).execute();

export const findDeviceLogin = (db: Db, deviceHash: string) =>
  db.selectFrom("device_logins").selectAll().where("device_hash", "=", deviceHash).executeTakeFirst();

export const findPendingLogin = (db: Db, userCode: string, now: string) =>
  db
    .selectFrom("device_logins")
    .selectAll()
    .where("user_code", "=", userCode)
    .where("status", "=", "pending")
    .where("expires_at", ">", now)
    .executeTakeFirst();

export interface Answer {
  status: "approved" | "denied";
  user_id: number;
  granted_scopes: string | null;
  granted_team_ids: string | null;
  granted_until: string | null;
  granted_by: number | null;
}

/** Approves or denies a pending login. Returns false if it was answered, used or expired meanwhile. */
export async function answerDeviceLogin(db: Db, userCode: string, now: string, answer: Answer): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("device_logins")
    .set(answer)
    .where("user_code", "=", userCode)
    .where("status", "=", "pending")
    .where("expires_at", ">", now)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Marks an approved login as used, so that its token is issued only once. Returns undefined if it was not approved or
 * was already used.
 */
export const useDeviceLogin = (db: Db, deviceHash: string, now: string) =>
  db
    .updateTable("device_logins")
    .set({ status: "used" })
    .where("device_hash", "=", deviceHash)
    .where("status", "=", "approved")
    .where("expires_at", ">", now)
    .returningAll()
    .executeTakeFirst();
