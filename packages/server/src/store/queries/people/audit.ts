/** Queries on the audit log, which is append-only apart from deleting old rows. */
import { setImmediate as others } from "node:timers/promises";
import type { Insertable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { beginning } from "../short-texts.ts";

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
/** Inserts an audit row. The query is compiled in advance, because it runs whenever a job is created. */
export const insertAudit = (db: Db, row: NewAuditRow) => insert(db, row);

export interface AuditFilter {
  readonly teamId?: number | undefined;
  readonly username?: string | undefined;
  /** An action such as `job.create`, or only its first part, such as `job`. */
  readonly action?: string | undefined;
  /** Only entries older than this id. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Number of rows checked per statement when no index answers the filter. */
const lookAt = 2000;

/** Lists audit entries, newest first. `nextLook` is awaited before each batch, so that other requests can run. */
export async function listAudit(db: Db, filter: AuditFilter, nextLook: () => Promise<void> = others) {
  const { username, action, limit } = filter;
  if (username === undefined && action === undefined) return shown(db, newest(db, filter, limit)).execute();
  const found: Awaited<ReturnType<ReturnType<typeof shown>["execute"]>> = [];
  for (let { before } = filter; ; ) {
    await nextLook();
    const looked = newest(db, { ...filter, before }, lookAt);
    found.push(
      ...(await matching(shown(db, looked), filter)
        .limit(limit - found.length)
        .execute()),
    );
    before = (
      await db
        .selectFrom(looked.as("looked"))
        .select(({ fn }) => fn.min("id").as("id"))
        .executeTakeFirst()
    )?.id;
    if (found.length === limit || before == null) return found;
  }
}

function newest(db: Db, { teamId, before }: Pick<AuditFilter, "teamId" | "before">, limit: number) {
  let query = db.selectFrom("audit").selectAll();
  if (teamId !== undefined) query = query.where("team_id", "=", teamId);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit);
}

const shown = (db: Db, rows: ReturnType<typeof newest>) =>
  db
    .selectFrom(rows.as("audit"))
    .leftJoin("teams", "teams.id", "audit.team_id")
    .select(["audit.id", "at", "username", "via", "address", "action", "teams.name as team_name"])
    // Rows of older versions may be longer than new rows can be.
    .select([beginning("target", 2048).as("target"), beginning("detail", 4096).as("detail")])
    .orderBy("audit.id", "desc");

function matching(query: ReturnType<typeof shown>, { username, action }: AuditFilter) {
  let narrowed = query;
  if (username !== undefined) narrowed = narrowed.where("username", "=", username);
  if (action !== undefined)
    narrowed = narrowed.where((eb) => eb.or([eb("action", "=", action), eb("action", "like", `${action}.%`)]));
  return narrowed;
}

/** Deletes up to `limit` rows older than this time. Returns how many. */
export async function deleteAuditBefore(db: Db, before: string, limit: number): Promise<number> {
  const old = db.selectFrom("audit").select("id").where("at", "<", before).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("audit").where("id", "in", old).executeTakeFirst();
  return Number(numDeletedRows);
}
