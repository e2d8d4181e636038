/**
 * The outbox: events that are inserted in the same transaction as the change they report. The statement that makes a
 * change also checks whether a receiver subscribed to it, so an event without subscribers needs no further statement.
 */
import { type Insertable, type Selectable, sql } from "kysely";
import { noteChange } from "../../drivers/noted-store.ts";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type OutboxRow = Selectable<Tables["outbox"]>;

/**
 * Largest number of outbox rows per team; further events are dropped. A background loop usually empties the outbox
 * within moments.
 */
const outboxRoom = 10_000;
/** Maximum characters of a message; the rest is cut off. */
const messageLength = 2000;

/** SQL that tells whether a receiver of the row's team subscribed to the row's new status. */
const heard = (table: "jobs" | "pipelines", kind: "job" | "pipeline") =>
  sql<boolean>`exists (select 1 from receivers where receivers.team_id = ${sql.ref(`${table}.team_id`)}
    and receivers.disabled_at is null
    and receivers.wanted like ${sql.lit(`% ${kind}:`)} || ${sql.ref(`${table}.status`)} || ' %')`.as("heard");

/** Columns that a status change must return, so that `noteJobs` and `notePipelines` can record it. */
export const heardJob = ["jobs.id", "jobs.team_id", heard("jobs", "job")] as const;
export const heardPipeline = ["pipelines.id", "pipelines.team_id", heard("pipelines", "pipeline")] as const;

interface Heard {
  readonly id: string;
  readonly team_id: number;
  readonly heard: boolean;
}

const taken = prepared<{ teamId: number }>()((db, value) =>
  db
    .selectFrom((eb) =>
      eb.selectFrom("outbox").select("id").where("team_id", "=", value("teamId")).limit(outboxRoom).as("taken"),
    )
    .select(({ fn }) => fn.countAll<number | string>().as("count")),
);

/** Returns how many more events the team's outbox takes. */
const roomIn = async (db: Db, teamId: number): Promise<number> =>
  outboxRoom - Number((await taken(db, { teamId })).rows[0]?.count ?? 0);

/**
 * Returns the ids of the rows for whose events there is room. Asked once for each team, not in the statement that
 * inserts the events: it would count the outbox again for each of thousands.
 */
async function idsWithRoom(db: Db, rows: readonly Heard[]): Promise<string[]> {
  const found: string[] = [];
  for (const [teamId, own] of Map.groupBy(rows, ({ team_id }) => team_id))
    found.push(...own.slice(0, await roomIn(db, teamId)).map(({ id }) => id));
  return found;
}

/**
 * Notes that jobs or pipelines have just changed their status. Inserts events for those whose new status a receiver
 * subscribed to.
 */
const noteMoved = (kind: "job" | "pipeline") => async (db: Db, moved: readonly Heard[]) => {
  for (const { id, team_id } of moved) noteChange(db, `${kind}s`, team_id, id);
  const ids = await idsWithRoom(
    db,
    moved.filter(({ heard }) => heard),
  );
  if (ids.length === 0) return;
  const table = `${kind}s`;
  await sql`insert into outbox (team_id, kind, subject, name, status, message, at, created_at)
    select team_id, ${sql.lit(kind)}, id, name, status, substr(error_message, 1, ${sql.lit(messageLength)}),
      finished_at, created_at
    from ${sql.table(table)} where id in (${sql.join(ids)}) order by id`.execute(db);
};

export const noteJobs = noteMoved("job");
export const notePipelines = noteMoved("pipeline");

const wanting = prepared<{ teamId: number; word: string }>()((db, value) =>
  db
    .selectFrom("receivers")
    .select("id")
    .where("team_id", "=", value("teamId"))
    .where("disabled_at", "is", null)
    .where("wanted", "like", value("word"))
    .limit(1),
);

/**
 * Inserts an event that is not a new status of a job or pipeline, if a receiver of the team subscribed to it. Returns
 * whether it was inserted.
 */
export async function noteEvent(db: Db, row: Insertable<Tables["outbox"]>): Promise<boolean> {
  const word = `% ${row.kind}:${row.status} %`;
  if ((await wanting(db, { teamId: row.team_id, word })).rows.length === 0) return false;
  if (await isOutboxFull(db, row.team_id)) return false;
  const message = row.message?.slice(0, messageLength) ?? null;
  await db
    .insertInto("outbox")
    .values({ ...row, message })
    .execute();
  return true;
}

const filled = prepared<object>()((db) =>
  db
    .selectFrom("teams")
    .select("id")
    .where(({ exists, selectFrom }) =>
      exists(selectFrom("outbox").select("outbox.id").whereRef("outbox.team_id", "=", "teams.id")),
    )
    .orderBy("id"),
);
/** Returns the teams that have events in the outbox. */
export const teamsWithOutbox = async (db: Db): Promise<number[]> => (await filled(db, {})).rows.map(({ id }) => id);

/** Whether the team's outbox is at its limit, so that events are dropped. */
export const isOutboxFull = async (db: Db, teamId: number): Promise<boolean> => (await roomIn(db, teamId)) <= 0;

/** Removes and returns the team's oldest events; the caller must create their deliveries in the same transaction. */
export async function takeOutbox(db: Db, teamId: number, limit: number): Promise<OutboxRow[]> {
  const oldest = db.selectFrom("outbox").select("id").where("team_id", "=", teamId).orderBy("id").limit(limit);
  const rows = await db.deleteFrom("outbox").where("id", "in", oldest).returningAll().execute();
  return rows.sort((a, b) => a.id - b.id);
}

/**
 * Records that the subject failed, so that its next success is reported as a recovery. A subject is a schedule, a task,
 * or a job together with its reruns. Returns false if the failure was already recorded.
 */
export async function markFailing(db: Db, teamId: number, subject: string, since: string): Promise<boolean> {
  const made = await db
    .insertInto("failing")
    .values({ team_id: teamId, subject, since })
    .onConflict((c) => c.doNothing())
    .returning("subject")
    .execute();
  return made.length > 0;
}

/** Deletes the record that the subject failed. Returns whether there was one. */
export async function clearFailing(db: Db, teamId: number, subject: string): Promise<boolean> {
  const gone = await db
    .deleteFrom("failing")
    .where("team_id", "=", teamId)
    .where("subject", "=", subject)
    .returning("subject")
    .execute();
  return gone.length > 0;
}

export async function deleteFailingBefore(db: Db, before: string, limit: number): Promise<number> {
  const oldest = db.selectFrom("failing").select(["team_id", "subject"]).where("since", "<", before).limit(limit);
  let deleted = 0;
  for (const { team_id, subject } of await oldest.execute()) if (await clearFailing(db, team_id, subject)) deleted++;
  return deleted;
}
