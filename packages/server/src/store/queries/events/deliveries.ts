/** Deliveries in the store: what is sent to a receiver, when next, and what became of it. */
import { type DeliveryStatus, webhookLimits } from "@millrace/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";
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
/** How many wait for the receiver; counts no further than may wait. */
export const waitingFor = async (db: Db, receiverId: number): Promise<number> =>
  Number((await pending(db, { receiverId })).rows[0]?.count ?? 0);

/** Due up to this time; beyond the other one no attempt is ever put off: then a wrong clock wrote it. */
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

/** A delivery that is due, and where a walk over them has got to. */
export interface DueDelivery {
  readonly id: string;
  readonly next_run: string;
  readonly team_id: number;
  readonly receiver_id: number;
  readonly receiver_kind: ReceiverKind;
}

interface DuePage {
  readonly after: DueDelivery | undefined;
  /** Of receivers of these kinds, and of none that is busy. */
  readonly kinds: readonly ReceiverKind[];
  readonly busy: readonly number[];
  readonly limit: number;
}

/** The first of the team's that are due. */
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
 * Whoever takes it sends it. Should that sender die, it is due again at `until`. Undefined: another server took it, or it
 * is gone.
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

/** Only while this attempt is the newest. False: somebody else took it meanwhile, or it is gone. */
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

/** Nothing is sent to the receiver before that time. */
export const putOff = (db: Db, receiverId: number, until: string) =>
  db
    .updateTable("deliveries")
    .set({ next_at: until })
    .where("receiver_id", "=", receiverId)
    .where("status", "=", "pending")
    .where("next_at", "<", until)
    .execute();

/** What waits for the receiver waits on without a time (null), or is due. */
export const setDue = (db: Db, receiverId: number, next_at: string | null) =>
  db
    .updateTable("deliveries")
    .set({ next_at })
    .where("receiver_id", "=", receiverId)
    .where("status", "=", "pending")
    .execute();

/** The same delivery, to be made anew. */
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

/** With whom each was sent to; without their bodies. */
export type ListedDelivery = Omit<DeliveryRow, "body"> & { receiver_kind: "webhook" | "mail"; address: string };

/** Newest first. */
export function listDeliveries(db: Db, filter: DeliveryFilter): Promise<ListedDelivery[]> {
  let query = db
    .selectFrom("deliveries")
    .innerJoin("receivers", "receivers.id", "deliveries.receiver_id")
    .select(["deliveries.id", "deliveries.team_id", "receiver_id", "deliveries.kind", "event", "title", "status"])
    .select(["attempts", "next_at", "response_status", "error", "deliveries.created_at", "attempted_at", "finished_at"])
    .select(["receivers.kind as receiver_kind", "receivers.address"])
    .where("deliveries.team_id", "=", filter.teamId);
  if (filter.id !== undefined) query = query.where("deliveries.id", "=", filter.id);
  if (filter.receiverId !== undefined) query = query.where("receiver_id", "=", filter.receiverId);
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  if (filter.before !== undefined) query = query.where("deliveries.id", "<", filter.before);
  return query.orderBy("deliveries.id", "desc").limit(filter.limit).execute();
}

/** Those that ended before, a few at a time. Returns how many. */
export async function deleteDeliveriesBefore(db: Db, before: string, limit: number): Promise<number> {
  const oldest = db
    .selectFrom("deliveries")
    .select("id")
    .where("finished_at", "<", before)
    .orderBy("finished_at")
    .limit(limit);
  return Number((await db.deleteFrom("deliveries").where("id", "in", oldest).executeTakeFirst()).numDeletedRows);
}
