/** Webhooks: signed HTTP requests about events of jobs, pipelines and schedules. */
import type { Static } from "typebox";
import { type JobStatus, jobStatuses } from "./jobs.ts";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, nextCursor, nullable, oneOf, secretText, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/** Events that can be sent to webhooks and e-mail addresses. Webhooks can also get the states of jobs. */
export const toldEvents = [
  "job.failure",
  "job.recovery",
  "pipeline.failure",
  "pipeline.recovery",
  "schedule.failure",
  "schedule.recovery",
  "schedule.skip",
  "schedule.overdue",
] as const;
export type ToldEvent = (typeof toldEvents)[number];

/** Job states that a webhook can subscribe to. Two states are left out, because jobs leave them almost at once. */
export const toldStatuses: readonly JobStatus[] = jobStatuses.filter(
  (status) => status !== "PROVISIONING" && status !== "CANCELING_SCHEDULED",
);

export const webhookFormats = ["json", "form", "slack"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

export const webhookMethods = ["POST", "PUT", "PATCH"] as const;
export type WebhookMethod = (typeof webhookMethods)[number];

export const deliveryStatuses = ["pending", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const webhookLimits = {
  /** Maximum number of webhooks of a team. */
  webhooks: 50,
  /** Maximum number of e-mail addresses of a team. */
  addresses: 50,
  /** Maximum number of deliveries that wait for one webhook or e-mail address. */
  waiting: 1000,
  /** Number of failed attempts in a row after which a webhook or e-mail address is disabled. */
  failuresInRow: 10,
  /** Maximum number of attempts of one delivery. */
  attempts: 12,
} as const;

export const ToldEvents = Type.Array(oneOf(toldEvents), {
  maxItems: toldEvents.length,
  description:
    "events to send; `job.failure` and `job.recovery` are not sent for runs of pipelines, which have their own events",
});

const fields = {
  url: Type.String({ description: "URL to which requests are sent" }),
  format: oneOf(webhookFormats, {
    description:
      "`json`: a JSON body; `form`: the same JSON in the form field `payload`; `slack`: JSON with only the field `text`, for Slack",
  }),
  method: oneOf(webhookMethods),
  verify_tls: Type.Boolean({ description: "false accepts any certificate of the receiver" }),
  events: ToldEvents,
  job_statuses: Type.Array(oneOf(toldStatuses), {
    maxItems: toldStatuses.length,
    description: "the webhook gets a request each time a job of the team enters one of these states",
  }),
};

/** Fields with the state of a receiver, which is a webhook or an e-mail address. */
export const receiverState = {
  enabled: Type.Boolean({ description: "if false, nothing is sent, and waiting deliveries are kept" }),
  disabled_reason: nullable(Type.String()),
  failures: Type.Integer({
    description: `number of failed attempts since the last success; ${webhookLimits.failuresInRow} in a row disable the receiver`,
  }),
  waiting: Type.Integer({ description: "number of deliveries that have not been sent yet" }),
  dropped: Type.Integer({
    description: `number of events that were dropped because ${webhookLimits.waiting} deliveries were waiting`,
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const Webhook = Type.Object({ id: Type.Integer(), ...fields, ...receiverState }, { $id: "Webhook" });
export type Webhook = Static<typeof Webhook>;

const NewWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({ description: "secret that signs every request; shown only now" }),
  },
  { $id: "NewWebhook" },
);
export type NewWebhook = Static<typeof NewWebhook>;

const read = access("ADMIN", "read", "admin");
const write = { ...access("ADMIN", "write", "admin"), people: true } as const;

const Url = Type.String({
  maxLength: 2048,
  pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\x00-\\x1f\\x7f]+$",
  description: "an http:// or https:// URL without a user name and password",
});
const Secret = secretText(255, "secret of at least 16 characters; the server generates one if it is absent");
const WebhookId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });

const choices = {
  format: maybe(fields.format),
  method: maybe(fields.method),
  verify_tls: maybe(fields.verify_tls),
  events: maybe(ToldEvents),
  job_statuses: maybe(fields.job_statuses),
};

const CreateWebhookInput = Type.Object(
  { team_name: maybe(TeamName), url: Url, secret: maybe(Secret), ...choices },
  { $id: "CreateWebhookInput" },
);
export type CreateWebhookInput = Static<typeof CreateWebhookInput>;

export const listWebhooks = defineRoute({
  id: "listWebhooks",
  method: "GET",
  path: "/api/datachain/webhooks",
  tag: "Webhooks",
  summary: "List the webhooks of a team, without their secrets",
  access: read,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Webhook),
});

export const createWebhook = defineRoute({
  id: "createWebhook",
  method: "POST",
  path: "/api/datachain/webhooks",
  tag: "Webhooks",
  summary:
    "Create a webhook and send it a PING. If the request names neither events nor states, the webhook gets all events",
  access: write,
  body: CreateWebhookInput,
  response: NewWebhook,
  errors: ["wrong_state"],
});

const UpdateWebhookInput = Type.Object(
  {
    team_name: maybe(TeamName),
    webhook_id: WebhookId,
    url: maybe(Url),
    secret: maybe(Secret),
    ...choices,
    enabled: maybe(Type.Boolean({ description: "true sends waiting deliveries now and resets the count of failures" })),
  },
  { $id: "UpdateWebhookInput" },
);
export type UpdateWebhookInput = Static<typeof UpdateWebhookInput>;

export const updateWebhook = defineRoute({
  id: "updateWebhook",
  method: "POST",
  path: "/api/datachain/webhooks/update",
  tag: "Webhooks",
  summary: "Change, disable or enable a webhook; null and absent fields change nothing",
  access: write,
  body: UpdateWebhookInput,
  response: Webhook,
  errors: ["not_found"],
});

const OneWebhook = Type.Object({ team_name: maybe(TeamName), webhook_id: WebhookId });

export const deleteWebhook = defineRoute({
  id: "deleteWebhook",
  method: "DELETE",
  path: "/api/datachain/webhooks",
  tag: "Webhooks",
  summary: "Delete a webhook and its deliveries; waiting deliveries are not sent",
  access: write,
  body: OneWebhook,
  response: ActionFeedback,
  errors: ["not_found"],
});

export const Delivery = Type.Object(
  {
    id: {
      ...Uuid,
      description: "id of the delivery, the same in every attempt; sent in the header x-millrace-delivery",
    },
    webhook_id: nullable(Type.Integer({ description: "null for an e-mail" })),
    address: nullable(Type.String({ description: "e-mail address; null for a webhook" })),
    event: Type.String({ description: "event such as `PING`, `job FAILED` or `schedule.skip`" }),
    text: Type.String({ description: "the event as a sentence" }),
    status: oneOf(deliveryStatuses),
    attempts: Type.Integer(),
    next_attempt_at: nullable({ ...Timestamp, description: "time of the next attempt; null if there will be none" }),
    response_status: nullable(
      Type.Integer({ description: "HTTP status of the newest attempt; null if there was no response" }),
    ),
    error: nullable(Type.String({ description: "why the newest attempt failed" })),
    created_at: Timestamp,
    attempted_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
  },
  { $id: "Delivery" },
);
export type Delivery = Static<typeof Delivery>;

export const testWebhook = defineRoute({
  id: "testWebhook",
  method: "POST",
  path: "/api/datachain/webhooks/test",
  tag: "Webhooks",
  summary: "Send a PING to a webhook, even if it is disabled",
  access: write,
  body: OneWebhook,
  response: Delivery,
  errors: ["not_found", "wrong_state"],
});

export const listDeliveries = defineRoute({
  id: "listDeliveries",
  method: "GET",
  path: "/api/datachain/webhooks/deliveries",
  tag: "Webhooks",
  summary: "List deliveries to webhooks and e-mail addresses, newest first",
  access: read,
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    webhook_id: Type.Optional(WebhookId),
    delivery_id: Type.Optional(Uuid),
    mail_address: Type.Optional(Type.String({ maxLength: 254, description: "only e-mails to this address" })),
    delivery_status: Type.Optional(oneOf(deliveryStatuses)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "default 20" })),
    cursor: Type.Optional({ ...Uuid, description: "from x-next-cursor" } as typeof Uuid),
  }),
  response: Type.Array(Delivery),
  responseHeaders: nextCursor,
  errors: ["not_found"],
});

export const redeliver = defineRoute({
  id: "redeliver",
  method: "POST",
  path: "/api/datachain/webhooks/redeliver",
  tag: "Webhooks",
  summary: "Send a delivery again, with the same id and the same body",
  access: write,
  body: Type.Object({ team_name: maybe(TeamName), delivery_id: Uuid }),
  response: Delivery,
  errors: ["not_found"],
});
