/** Queries on receivers: the webhooks and e-mail addresses to which events are sent. */
import type { Insertable, Selectable, Updateable } from "kysely";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { nextTurn } from "../batches.ts";

export type ReceiverRow = Selectable<Tables["receivers"]>;
export type ReceiverKind = ReceiverRow["kind"];
export const receiverKinds: readonly ReceiverKind[] = ["webhook", "mail"];

export async function insertReceiver(db: Db, row: Insertable<Tables["receivers"]>): Promise<number> {
  return (await db.insertInto("receivers").values(row).returning("id").executeTakeFirstOrThrow()).id;
}

export const updateReceiver = (db: Db, id: number, changes: Updateable<Tables["receivers"]>) =>
  db.updateTable("receivers").set(changes).where("id", "=", id).execute();

/** Lists a team's receivers of this kind, in order of creation. */
export const listReceivers = (db: Db, teamId: number, kind: ReceiverKind): Promise<ReceiverRow[]> =>
  db.selectFrom("receivers").selectAll().where("team_id", "=", teamId).where("kind", "=", kind).orderBy("id").execute();

/** Lists a team's receivers that are not disabled. */
export const enabledReceivers = (db: Db, teamId: number): Promise<ReceiverRow[]> =>
  db
    .selectFrom("receivers")
    .selectAll()
    .where("team_id", "=", teamId)
    .where("disabled_at", "is", null)
    .orderBy("id")
    .execute();

export const findWebhook = (db: Db, teamId: number, id: number): Promise<ReceiverRow | undefined> =>
  db
    .selectFrom("receivers")
    .selectAll()
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .where("kind", "=", "webhook")
    .executeTakeFirst();

export const findAddress = (db: Db, teamId: number, address: string): Promise<ReceiverRow | undefined> =>
  db
    .selectFrom("receivers")
    .selectAll()
    .where("team_id", "=", teamId)
    .where("kind", "=", "mail")
    .where("address", "=", address)
    .executeTakeFirst();

export const getReceiver = (db: Db, id: number): Promise<ReceiverRow | undefined> =>
  db.selectFrom("receivers").selectAll().where("id", "=", id).executeTakeFirst();

/** Reads a receiver and locks its row until the write ends. SQLite has only one writer and needs no lock. */
export const lockReceiver = (db: Db, id: number): Promise<ReceiverRow | undefined> => {
  const query = db.selectFrom("receivers").selectAll().where("id", "=", id);
  return (isPostgres(db) ? query.forUpdate() : query).executeTakeFirst();
};

/**
 * Counts disabled receivers and pending deliveries, by team and kind. Reads only pending deliveries, never the history.
 */
export const receiverCounts = (db: Db) =>
  db
    .selectFrom("receivers")
    .select((eb) => [
      "team_id",
      "kind",
      eb.fn.count<number>("disabled_at").as("disabled"),
      eb.fn
        .sum<number>(
          eb
            .selectFrom("deliveries")
            .select((inner) => inner.fn.countAll<number>().as("count"))
            .whereRef("deliveries.receiver_id", "=", "receivers.id")
            .where("deliveries.status", "=", "pending"),
        )
        .as("waiting"),
    ])
    .groupBy(["team_id", "kind"])
    .orderBy("team_id")
    .orderBy("kind")
    .execute();

/** Deliveries that are deleted before other work gets the event loop. */
const deletedAtOnce = 500;

/** Deletes a receiver and its deliveries, of which there may be any number. */
export async function deleteReceiver(db: Db, id: number): Promise<void> {
  const some = db.selectFrom("deliveries").select("id").where("receiver_id", "=", id).limit(deletedAtOnce);
  for (;;) {
    const { numDeletedRows } = await db.deleteFrom("deliveries").where("id", "in", some).executeTakeFirst();
    if (Number(numDeletedRows) < deletedAtOnce) break;
    await nextTurn();
  }
  await db.deleteFrom("receivers").where("id", "=", id).execute();
}
