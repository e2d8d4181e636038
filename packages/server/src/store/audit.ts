/** Audit rows in the store: added, read, removed by age; never changed. */
import type { Insertable } from "kysely";
import { prepared } from "./prepared.ts";
import { beginning } from "./short-texts.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type NewAuditRow = Omit<Insertable<Tables["audit"]>, "id">;

const insert = prepared<NewAuditRow>()((db, value) =>
  db.insertInto("audit").values({
    at: value("at"),
    user_id: value("user_id"),
    username: value("username"),
    via: value("via"),
    address: value("address"),
    action: value("action"),
    team_id: value("team_id"),
    target: value("target"),
    detail: value("detail"),
  }),
);
/** Prepared: every job that is created passes here. */
export const insertAudit = (db: Db, row: NewAuditRow) => insert(db, row);

export interface AuditFilter {
  readonly teamId?: number | undefined;
  readonly username?: string | undefined;
  /** An action, or the noun before its dot. */
  readonly action?: string | undefined;
  /** Only entries older than this one. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Newest first. */
export function listAudit(db: Db, { teamId, username, action, before, limit }: AuditFilter) {
  let query = db
    .selectFrom("audit")
    .leftJoin("teams", "teams.id", "audit.team_id")
    .select(["audit.id", "at", "username", "via", "address", "action", "teams.name as team_name"])
    // Rows from before may have more than rows get today.
    .select([beginning("target", 2048).as("target"), beginning("detail", 4096).as("detail")]);
  if (teamId !== undefined) query = query.where("audit.team_id", "=", teamId);
  if (username !== undefined) query = query.where("username", "=", username);
  if (action !== undefined)
    query = query.where((eb) => eb.or([eb("action", "=", action), eb("action", "like", `${action}.%`)]));
  if (before !== undefined) query = query.where("audit.id", "<", before);
  return query.orderBy("audit.id", "desc").limit(limit).execute();
}

/** Up to so many; returns how many. */
export async function deleteAuditBefore(db: Db, before: string, limit: number): Promise<number> {
  const old = db.selectFrom("audit").select("id").where("at", "<", before).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("audit").where("id", "in", old).executeTakeFirst();
  return Number(numDeletedRows);
}
