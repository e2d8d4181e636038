/** Notifications: e-mail addresses that get a message when something happens in a team. */
import {
  ApiError,
  invalid,
  type Notification,
  type SetNotificationInput,
  type ToldEvent,
  webhookLimits,
} from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import {
  deleteReceiver,
  findAddress,
  insertReceiver,
  listReceivers,
  lockReceiver,
  type ReceiverRow,
  updateReceiver,
} from "../../store/queries/events/receivers.ts";
import { lockTeam } from "../../store/queries/people/teams.ts";
import { audit } from "../access/audit.ts";
import type { Team } from "../access/principals.ts";
import { wantedWords } from "../lifecycle/told-events.ts";
import { iso } from "../time/clock.ts";
import {
  newReceiver,
  noAddress,
  type ReceiverChange,
  type ReceiversContext,
  setEnabled,
  stateOf,
  testReceiver,
} from "./receivers.ts";

export interface NotificationsContext extends ReceiversContext {
  /** Whether the operator has configured a mail server. */
  readonly sendsMail: boolean;
}

export async function listNotifications({ store }: NotificationsContext, team: Team): Promise<Notification[]> {
  const rows = await listReceivers(store.db, team.id, "mail");
  return Promise.all(rows.map((row) => shown(store.db, row)));
}

const shown = async (db: Db, row: ReceiverRow): Promise<Notification> => ({
  address: row.address,
  events: JSON.parse(row.events) as ToldEvent[],
  ...(await stateOf(db, row)),
});

/** Adds an e-mail address to a team, or changes which events it gets. */
export async function setNotification(
  { store, signals, sendsMail }: NotificationsContext,
  { address, events, enabled }: SetNotificationInput,
  { team, actor, now }: ReceiverChange,
): Promise<Notification> {
  if (events?.length === 0) throw invalid("events", "at least one event. To send nothing, delete the notification");
  if (!sendsMail) throw noMail();
  const notification = await store.write(async (db) => {
    const row = (await findAddress(db, team.id, address)) ?? (await add(db, team, address, now));
    const told = [...new Set(events ?? (JSON.parse(row.events) as ToldEvent[]))];
    const changes = { events: JSON.stringify(told), wanted: wantedWords(told, []), updated_at: iso(now) };
    await updateReceiver(db, row.id, changes);
    await setEnabled(db, row, enabled, now);
    await audit(db, actor, { action: "notification.set", team, target: address, detail: told.join(", ") }, now);
    return shown(db, await hold(db, team, address));
  });
  signals.deliveries.wake();
  return notification;
}

const noMail = () =>
  new ApiError(
    "wrong_state",
    "This server sends no e-mail, because its operator has not set MILLRACE_SMTP_URL. Ask the operator to set it, or use a webhook.",
  );

async function add(db: Db, team: Team, address: string, now: number): Promise<ReceiverRow> {
  await lockTeam(db, team.id);
  if ((await listReceivers(db, team.id, "mail")).length >= webhookLimits.addresses)
    throw new ApiError(
      "wrong_state",
      `The team ${team.name} already has ${webhookLimits.addresses} e-mail addresses, which is the limit. Remove one first.`,
    );
  const fresh = newReceiver(team, "mail", address, now);
  return { ...fresh, id: await insertReceiver(db, fresh) };
}

export async function deleteNotification(
  { store }: NotificationsContext,
  address: string,
  { team, actor, now }: ReceiverChange,
): Promise<void> {
  await store.write(async (db) => {
    const row = await hold(db, team, address);
    await deleteReceiver(db, row.id);
    await audit(db, actor, { action: "notification.delete", team, target: address }, now);
  });
}

export async function testNotification(context: NotificationsContext, address: string, change: ReceiverChange) {
  if (!context.sendsMail) throw noMail();
  return testReceiver(context, (db) => hold(db, change.team, address), change);
}

/**
 * Locks the row of an e-mail address until the transaction ends, and returns it. Throws if the team does not have the
 * address.
 */
async function hold(db: Db, team: Team, address: string): Promise<ReceiverRow> {
  const found = await findAddress(db, team.id, address);
  const row = found && (await lockReceiver(db, found.id));
  if (!row) throw noAddress(team, address);
  return row;
}
