/** `millrace notify`: manages e-mail addresses that receive events of jobs, pipelines and schedules. */
import { type Notification, routes } from "@millrace/contract";
import { connect } from "../connection.ts";
import type { Column } from "../output.ts";
import { readEnabled, readEvents, showOutcome, stateText } from "../receivers.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const columns: Column<Notification>[] = [
  { title: "ADDRESS", full: ({ address }) => address, shrinks: "last" },
  { title: "STATE", full: stateText },
  { title: "WAITING", full: ({ waiting }) => String(waiting) },
  { title: "TELLS", full: ({ events }) => events.join(", "), shrinks: true },
  { title: "REASON", full: ({ disabled_reason }) => disabled_reason ?? "", shrinks: true },
];

const set: Handler<"notify set"> = async ({ flags, arguments: { ADDRESS: address } }, output) => {
  const { client } = await connect(flags);
  const body = { address, ...readEvents(flags.event), ...readEnabled(flags) };
  const notification = await client.call(routes.setNotification, { body });
  if (flags.json) output.json(notification);
  else output.print(`${address} receives ${notification.events.join(", ")}`);
  return 0;
};

const ls: Handler<"notify ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const list = await client.call(routes.listNotifications, { query: {} });
  if (flags.json) output.json(list);
  else if (list.length === 0) output.note("No addresses found. Add one: millrace notify set ADDRESS");
  else output.table(columns, list);
  return 0;
};

const test: Handler<"notify test"> = async ({ flags, arguments: { ADDRESS: address } }, output) => {
  const { client } = await connect(flags);
  const delivery = await client.call(routes.testNotification, { body: { address } });
  return showOutcome(client, delivery, flags.json, output);
};

const rm: Handler<"notify rm"> = async ({ flags, arguments: { ADDRESS: address } }, output) => {
  const { client } = await connect(flags);
  output.print((await client.call(routes.deleteNotification, { body: { address } })).message);
  return 0;
};

export const handlers: HandlersOf<"notify"> = {
  "notify set": set,
  "notify ls": ls,
  "notify test": test,
  "notify rm": rm,
};
