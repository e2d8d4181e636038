/** Notifications: e-mail addresses that get a team's events, if the operator has set up e-mail. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, TeamName } from "./schema.ts";
import { Type } from "./type.ts";
import { Delivery, receiverState, ToldEvents } from "./webhooks.ts";

const Address = Type.String({
  maxLength: 254,
  pattern: '^[^@\\s\\x00-\\x1f\\x7f<>(),;:"\\\\[\\]]+@[^@\\s\\x00-\\x1f\\x7f<>(),;:"\\\\[\\]]+$',
  description: "an e-mail address",
});

export const Notification = Type.Object(
  { address: Type.String(), events: ToldEvents, ...receiverState },
  { $id: "Notification" },
);
export type Notification = Static<typeof Notification>;

const read = access("ADMIN", "read", "admin");
const write = { ...access("ADMIN", "write", "admin"), people: true } as const;

export const listNotifications = defineRoute({
  id: "listNotifications",
  method: "GET",
  path: "/api/datachain/notifications",
  tag: "Notifications",
  summary: "List the e-mail addresses that get a team's events",
  access: read,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Notification),
});

const SetNotificationInput = Type.Object(
  {
    team_name: maybe(TeamName),
    address: Address,
    events: maybe(ToldEvents),
    enabled: maybe(Type.Boolean({ description: "true sends waiting deliveries now and resets the count of failures" })),
  },
  { $id: "SetNotificationInput" },
);
export type SetNotificationInput = Static<typeof SetNotificationInput>;

export const setNotification = defineRoute({
  id: "setNotification",
  method: "POST",
  path: "/api/datachain/notifications",
  tag: "Notifications",
  summary: "Add an e-mail address, or change its events; a new address without `events` gets all events",
  access: write,
  body: SetNotificationInput,
  response: Notification,
  errors: ["wrong_state"],
});

const OneAddress = Type.Object({ team_name: maybe(TeamName), address: Address });

export const deleteNotification = defineRoute({
  id: "deleteNotification",
  method: "DELETE",
  path: "/api/datachain/notifications",
  tag: "Notifications",
  summary: "Remove an e-mail address; waiting deliveries are not sent",
  access: write,
  body: OneAddress,
  response: ActionFeedback,
  errors: ["not_found"],
});

export const testNotification = defineRoute({
  id: "testNotification",
  method: "POST",
  path: "/api/datachain/notifications/test",
  tag: "Notifications",
  summary: "Send a test e-mail",
  access: write,
  body: OneAddress,
  response: Delivery,
  errors: ["not_found", "too_many_requests", "wrong_state"],
});
