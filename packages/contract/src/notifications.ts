/** Notifications: e-mail addresses of a team that are told what happens, where the operator has set up e-mail. */
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
  summary: "List the e-mail addresses that a team has told what happens",
  access: read,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Notification),
});

const SetNotificationInput = Type.Object(
  {
    team_name: maybe(TeamName),
    address: Address,
    events: maybe(ToldEvents),
    enabled: maybe(Type.Boolean({ description: "true: what waits is sent now, and failures count anew" })),
  },
  { $id: "SetNotificationInput" },
);
export type SetNotificationInput = Static<typeof SetNotificationInput>;

export const setNotification = defineRoute({
  id: "setNotification",
  method: "POST",
  path: "/api/datachain/notifications",
  tag: "Notifications",
  summary:
    "Have an e-mail address told of these events, or change which; a new one is told of all unless it says which",
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
  summary: "Have an e-mail address told nothing any more; what waits is not sent",
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
  summary: "Send an e-mail that says that e-mails arrive",
  access: write,
  body: OneAddress,
  response: Delivery,
  errors: ["not_found", "wrong_state"],
});
