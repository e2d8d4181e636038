/** Queries on deliveries: messages to receivers, when each is sent next, and the results. */
import { type DeliveryStatus, deliveryStatuses, webhookLimits } from "@millrace/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";
import type { Page } from "../pages.ts";
import type { ReceiverKind } from "./receivers.ts";

export type DeliveryRow = Selectable<Tables["deliveries"]>;
export type NewDelivery = Insertable<Tables["deliveries"]>;

export const insertDeliveries = (db: Db, rows: readonly NewDelivery[]) =>
  eachPart(rows, (part) => db.insertInto("deliveries").values(part).execute());

const pending = prepared<{ receiverId: number }>()((db, value) =>
  db
    .selectFrom((inner) =>
      inner
        .selectFrom("deliveries")
        .select("id")
        .where("receiver_id", "=", value("receiverId"))
        .where("status", "=", "pending")
        .limit(webhookLimits.waiting)
        .as("waiting"),
    )
    .select(db.fn.countAll<number>().as("count")),
);
/** Returns the number of pending deliveries of a receiver. Counts at most `webhookLimits.waiting` of them. */
export const waitingFor = async (db: Db, receiverId: number): Promise<number> =>
  Number((await pending(db, { receiverId })).rows[0]?.count ?? 0);

/**
 * A delivery is due if its time is not after `now`. It is also due if its time is after `far`: no back-off is that
 * long, so a wrong clock must have set the time.
 */
export interface DueTimes {
  readonly now: string;
  readonly far: string;
}

const isDue = ({ now, far }: DueTimes) => sql<boolean>`(next_at <= ${now} or next_at > ${far})`;

export async function teamsWithDueDeliveries(db: Db, times: DueTimes): Promise<number[]> {
  const rows = await db
    .selectFrom("teams")
    .select("id")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("deliveries")
          .select("deliveries.id")
          .whereRef("deliveries.team_id", "=", "teams.id")
          .where(isDue(times)),
      ),
    )
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** A due delivery; also the cursor of a paged walk over due deliveries. */
export interface DueDelivery {
  readonly id: string;
  readonly next_run: string;
  readonly team_id: number;
  readonly receiver_id: number;
  readonly receiver_kind: ReceiverKind;
}

interface DuePage extends Page<DueDelivery> {
  /** Only deliveries to receivers of these kinds are returned. */
  readonly kinds: readonly ReceiverKind[];
  /** Ids of receivers whose deliveries are left out. */
  readonly busy: readonly number[];
}

/** Returns a page of the team's due deliveries, earliest first. */
export async function dueDeliveries(
  db: Db,
  teamId: number,
  times: DueTimes,
  { after, kinds, busy, limit }: DuePage,
): Promise<DueDelivery[]> {
  let query = db
    .selectFrom("deliveries")
    .innerJoin("receivers", "receivers.id", "deliveries.receiver_id")
    .select((eb) => ["deliveries.id", eb.ref("next_at").$castTo<string>().as("next_run")])
    .select(["deliveries.team_id", "receiver_id", "receivers.kind as receiver_kind"])
    .where("deliveries.team_id", "=", teamId)
    .where("next_at", "is not", null)
    .where("receivers.kind", "in", kinds)
    .where(isDue(times));
  if (after)
    query = query.where((eb) =>
      eb(eb.refTuple("next_at", "deliveries.id"), ">", eb.tuple(after.next_run, after.id) as never),
    );
  if (busy.length > 0) query = query.where("receiver_id", "not in", busy);
  return query.orderBy("next_at").orderBy("deliveries.id").limit(limit).execute();
}

/**
 * Claims a delivery for sending. If the sender dies, the delivery is due again at `until`. Returns undefined if another
 * server claimed it or it was deleted.
 */
export const takeDelivery = (
  db: Db,
  { id, next_run }: DueDelivery,
  until: string,
  now: string,
): Promise<DeliveryRow | undefined> =>
  db
    .updateTable("deliveries")
    .set((eb) => ({ next_at: until, attempts: eb("attempts", "+", 1), attempted_at: now }))
    .where("id", "=", id)
    .where("next_at", "=", next_run)
    .returningAll()
    .executeTakeFirst();

type Outcome = Pick<DeliveryRow, "status" | "next_at" | "response_status" | "error" | "finished_at">;

/**
 * Records the outcome of an attempt to deliver, if it is still the delivery's newest attempt. Returns false if another
 * sender claimed the delivery meanwhile, or if the delivery was deleted.
 */
export async function endDeliveryAttempt(
  db: Db,
  { id, attempts }: Pick<DeliveryRow, "id" | "attempts">,
  outcome: Outcome,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("deliveries")
    .set(outcome)
    .where("id", "=", id)
    .where("status", "=", "pending")
    .where("attempts", "=", attempts)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Postpones the receiver's pending deliveries to `until`, unless they are due later. */
export const putOff = (db: Db, receiverId: number, until: string) =>
  db
    .updateTable("deliveries")
    .set({ next_at: until })
    .where("receiver_id", "=", receiverId)
    .where("status", "=", "pending")
    .where("next_at", "<", until)
    .execute();

/** Sets when the receiver's pending deliveries are due; null suspends them. */
export const setDue = (db: Db, receiverId: number, next_at: string | null) =>
  db
    .updateTable("deliveries")
    .set({ next_at })
    .where("receiver_id", "=", receiverId)
    .where("status", "=", "pending")
    .execute();

/** Makes a delivery pending again, with its attempts reset, so that it is sent once more. */
export const makeDue = (db: Db, id: string, now: string): Promise<DeliveryRow | undefined> =>
  db
    .updateTable("deliveries")
    .set({ status: "pending", attempts: 0, next_at: now, response_status: null, error: null, finished_at: null })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();

export interface DeliveryFilter {
  readonly teamId: number;
  readonly id: string | undefined;
  readonly receiverId: number | undefined;
  readonly status: DeliveryStatus | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

/** A delivery with its receiver and without its body. */
export type ListedDelivery = Omit<DeliveryRow, "body"> & { receiver_kind: "webhook" | "mail"; address: string };

/** Lists deliveries, newest first. */
export async function listDeliveries(db: Db, filter: DeliveryFilter): Promise<ListedDelivery[]> {
  const ids = filter.id === undefined ? await newestIds(db, filter) : [filter.id];
  if (ids.length === 0) return [];
  let query = db
    .selectFrom("deliveries")
    .innerJoin("receivers", "receivers.id", "deliveries.receiver_id")
    .select(["deliveries.id", "deliveries.team_id", "receiver_id", "deliveries.kind", "event", "title", "status"])
    .select(["attempts", "next_at", "response_status", "error", "deliveries.created_at", "attempted_at", "finished_at"])
    .select(["receivers.kind as receiver_kind", "receivers.address"])
    .where("deliveries.team_id", "=", filter.teamId)
    .where("deliveries.id", "in", ids);
  if (filter.receiverId !== undefined) query = query.where("receiver_id", "=", filter.receiverId);
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  if (filter.before !== undefined) query = query.where("deliveries.id", "<", filter.before);
  return query.orderBy("deliveries.id", "desc").limit(filter.limit).execute();
}

/**
 * Returns the ids of the newest deliveries. With a receiver or a status, it reads one page for each receiver and status
 * by their index and merges these pages: otherwise it would read all deliveries of the team to find a few.
 */
async function newestIds(db: Db, { teamId, receiverId, status, before, limit }: DeliveryFilter): Promise<string[]> {
  const newest = (query = db.selectFrom("deliveries")) => {
    const page = query.select("id").orderBy("id", "desc").limit(limit);
    return (before === undefined ? page : page.where("id", "<", before)).execute();
  };
  const all = db.selectFrom("deliveries");
  if (receiverId === undefined && status === undefined)
    return (await newest(all.where("team_id", "=", teamId))).map(({ id }) => id);
  const found: string[] = [];
  for (const receiver of receiverId === undefined ? await receiversOf(db, teamId) : [receiverId])
    for (const state of status === undefined ? deliveryStatuses : [status])
      for (const { id } of await newest(all.where("receiver_id", "=", receiver).where("status", "=", state)))
        found.push(id);
  return found.sort().reverse().slice(0, limit);
}

const receiversOf = async (db: Db, teamId: number): Promise<number[]> =>
  (await db.selectFrom("receivers").select("id").where("team_id", "=", teamId).execute()).map(({ id }) => id);

/** Deletes up to `limit` deliveries that ended before this time. Returns how many. */
export async function deleteDeliveriesBefore(db: Db, before: string, limit: number): Promise<number> {
  const oldest = db
    .selectFrom("deliveries")
    .select("id")
    .where("finished_at", "<", before)
    .orderBy("finished_at")
    .limit(limit);
  return Number((await db.deleteFrom("deliveries").where("id", "in", oldest).executeTakeFirst()).numDeletedRows);
}
