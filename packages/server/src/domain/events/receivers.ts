/** Functions for receivers, which are webhooks and e-mail addresses: their state, deliveries, tests and redelivery. */
import { ApiError, type Delivery, invalid, type RouteInput, type routes, toldEvents } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  type DeliveryRow,
  insertDeliveries,
  type ListedDelivery,
  listDeliveries,
  makeDue,
  setDue,
  waitingFor,
} from "../../store/queries/events/deliveries.ts";
import {
  findAddress,
  findWebhook,
  type ReceiverKind,
  type ReceiverRow,
  updateReceiver,
} from "../../store/queries/events/receivers.ts";
import type { Signals } from "../../turns/signals.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Team } from "../access/principals.ts";
import { wantedWords } from "../lifecycle/told-events.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { pingOf } from "./event-texts.ts";
import { newDelivery } from "./tell.ts";

export interface ReceiversContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly signals: Signals;
}

/** The team of the receiver, the actor who changes it, and the time. */
export interface ReceiverChange {
  readonly team: Team;
  readonly actor: Actor;
  readonly now: number;
}

/** Returns the columns of a new receiver, which subscribes to every event. */
export const newReceiver = (team: Team, kind: ReceiverKind, address: string, now: number) =>
  ({
    team_id: team.id,
    kind,
    address,
    secret: "",
    format: "json",
    method: "POST",
    verify_tls: 1,
    events: JSON.stringify(toldEvents),
    job_statuses: "[]",
    wanted: wantedWords(toldEvents, []),
    failures: 0,
    rests_until: null,
    disabled_at: null,
    disabled_reason: null,
    dropped: 0,
    created_at: iso(now),
    updated_at: iso(now),
  }) as const;

/** Returns the state of a receiver as the API shows it. */
export const stateOf = async (db: Db, row: ReceiverRow) => ({
  enabled: row.disabled_at === null,
  disabled_reason: row.disabled_reason,
  failures: row.failures,
  waiting: await waitingFor(db, row.id),
  dropped: row.dropped,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

/**
 * Enables or disables a receiver. If `enabled` is null or undefined, nothing changes. Waiting deliveries are kept, and
 * are sent once the receiver is enabled.
 */
export async function setEnabled(
  db: Db,
  row: ReceiverRow,
  enabled: boolean | null | undefined,
  now: number,
): Promise<void> {
  if (enabled === null || enabled === undefined) return;
  if (enabled) {
    const fresh = { failures: 0, rests_until: null, disabled_at: null, disabled_reason: null };
    await updateReceiver(db, row.id, fresh);
  } else if (row.disabled_at === null) {
    await updateReceiver(db, row.id, { disabled_at: iso(now), disabled_reason: "It was disabled by hand." });
  }
  await setDue(db, row.id, enabled ? iso(now) : null);
}

export const noWebhook = (team: Team, id: number) =>
  new ApiError("not_found", `There is no webhook ${id} in the team ${team.name}.`, { hint: "list_webhooks" });

export const noAddress = (team: Team, address: string) =>
  new ApiError("not_found", `The team ${team.name} sends no e-mails to ${address}.`, { hint: "list_notifications" });

/**
 * Queues a PING message and returns its id. A disabled receiver gets the message too, so that users can test the
 * receiver before they enable it.
 */
export async function addPing(db: Db, receiver: ReceiverRow, team: Team, now: number): Promise<string> {
  const ping = newDelivery({ ...receiver, rests_until: null }, pingOf(team.name, iso(now)), now);
  await insertDeliveries(db, [ping]);
  return ping.id;
}

/** If at least this many deliveries wait for a receiver, no test message is added. */
const mostTests = 100;

/**
 * Queues a PING message for a receiver, and returns the new delivery. `find` locks the receiver's row and returns it.
 */
export async function testReceiver(
  { store, signals }: ReceiversContext,
  find: (db: Db) => Promise<ReceiverRow>,
  { team, actor, now }: ReceiverChange,
): Promise<Delivery> {
  const delivery = await store.write(async (db) => {
    const receiver = await find(db);
    if ((await waitingFor(db, receiver.id)) >= mostTests)
      throw new ApiError(
        "wrong_state",
        `No test message was sent: ${mostTests} or more deliveries already wait for this receiver. List the deliveries to see why they fail, and send a test message again later.`,
      );
    const id = await addPing(db, receiver, team, now);
    const action = receiver.kind === "webhook" ? "webhook.test" : "notification.test";
    await audit(db, actor, { action, team, target: targetOf(receiver) }, now);
    return requireDelivery(db, team, id);
  });
  signals.deliveries.wake();
  return delivery;
}

const targetOf = ({ kind, id, address }: Pick<ReceiverRow, "kind" | "id" | "address">) =>
  kind === "webhook" ? `webhook ${id}` : address;

async function requireDelivery(db: Db, team: Team, id: string): Promise<Delivery> {
  const filter = { teamId: team.id, id, receiverId: undefined, status: undefined, before: undefined, limit: 1 };
  const [row] = await listDeliveries(db, filter);
  if (row) return shownDelivery(row);
  throw new ApiError("not_found", `There is no delivery ${id} in the team ${team.name}.`, { hint: "list_deliveries" });
}

const shownDelivery = (row: ListedDelivery): Delivery => ({
  id: row.id,
  webhook_id: row.receiver_kind === "webhook" ? row.receiver_id : null,
  address: row.receiver_kind === "mail" ? row.address : null,
  event: row.event,
  text: row.title,
  status: row.status,
  attempts: row.attempts,
  next_attempt_at: row.next_at,
  response_status: row.response_status,
  error: row.error,
  created_at: row.created_at,
  attempted_at: row.attempted_at,
  finished_at: row.finished_at,
});

/** Makes a delivery due again. It is sent with the same id and the same body. */
export async function redeliver(
  { store, signals }: ReceiversContext,
  id: string,
  { team, actor, now }: ReceiverChange,
): Promise<Delivery> {
  const delivery = await store.write(async (db) => {
    const known = await requireDelivery(db, team, id.toLowerCase());
    await makeDue(db, known.id, iso(now));
    await audit(db, actor, { action: "delivery.repeat", team, target: known.id }, now);
    return requireDelivery(db, team, known.id);
  });
  signals.deliveries.wake();
  return delivery;
}

type DeliveriesQuery = RouteInput<typeof routes.listDeliveries>["query"];

interface Deliveries {
  readonly deliveries: Delivery[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: DeliveryRow["id"] | undefined;
}

/** Lists the deliveries of a team, newest first. */
export async function listTeamDeliveries(
  { store }: Pick<ReceiversContext, "store">,
  team: Team,
  query: DeliveriesQuery,
): Promise<Deliveries> {
  const { db } = store;
  const { webhook_id, mail_address: address, limit = 20 } = query;
  if (webhook_id !== undefined && address !== undefined)
    throw invalid("mail_address", "only one of webhook_id and mail_address, got both");
  const filter = {
    teamId: team.id,
    id: query.delivery_id?.toLowerCase(),
    receiverId: await receiverIdOf(db, team, webhook_id, address),
    status: query.delivery_status,
    before: query.cursor?.toLowerCase(),
    limit,
  };
  const rows = await listDeliveries(db, filter);
  return { deliveries: rows.map(shownDelivery), next: rows.length < limit ? undefined : rows.at(-1)?.id };
}

/** Returns the receiver's id for the webhook or the e-mail address in a query; undefined if the query has neither. */
async function receiverIdOf(
  db: Db,
  team: Team,
  webhookId: number | undefined,
  address: string | undefined,
): Promise<number | undefined> {
  if (webhookId !== undefined) {
    const webhook = await findWebhook(db, team.id, webhookId);
    if (!webhook) throw noWebhook(team, webhookId);
    return webhook.id;
  }
  if (address === undefined) return undefined;
  const found = await findAddress(db, team.id, address);
  if (!found) throw noAddress(team, address);
  return found.id;
}
