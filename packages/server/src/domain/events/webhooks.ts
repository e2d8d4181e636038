/** Creates, changes, lists and deletes webhooks. The server's loop `deliver-events` sends the messages. */
import {
  ApiError,
  type CreateWebhookInput,
  invalid,
  type JobStatus,
  type NewWebhook,
  type ToldEvent,
  toldEvents,
  type UpdateWebhookInput,
  type Webhook,
  webhookLimits,
} from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import {
  deleteReceiver,
  findWebhook,
  getReceiver,
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
import { decryptReceiver, encryptReceiver } from "../secrets/encryption.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { newSecret } from "../secrets/random-secrets.ts";
import { iso } from "../time/clock.ts";
import {
  addPing,
  newReceiver,
  noWebhook,
  type ReceiverChange,
  type ReceiversContext,
  setEnabled,
  stateOf,
  testReceiver,
} from "./receivers.ts";

/**
 * The URL of a webhook and the secret that signs its requests. Both are encrypted, because some URLs are secrets too.
 */
interface Target {
  readonly url: string;
  readonly secret: string;
}

/** Decrypts the URL and the secret of a webhook. */
export const readTarget = (keys: KeyRing, { id, secret }: Pick<ReceiverRow, "id" | "secret">): Target =>
  JSON.parse(decryptReceiver(keys, id, secret)) as Target;

/** Minimum length, in characters, of a secret that a user chooses. */
const shortestSecret = 16;

export async function createWebhook(
  { store, keys, signals }: ReceiversContext,
  input: CreateWebhookInput,
  { team, actor, now }: ReceiverChange,
): Promise<NewWebhook> {
  const target = { url: readUrl(input.url), secret: readSecret(input.secret) ?? newSecret("whsec_") };
  const webhook = await store.write(async (db) => {
    await lockTeam(db, team.id);
    if ((await listReceivers(db, team.id, "webhook")).length >= webhookLimits.webhooks)
      throw new ApiError(
        "wrong_state",
        `The team ${team.name} already has ${webhookLimits.webhooks} webhooks, which is the limit. Delete one first.`,
      );
    const fresh = newReceiver(team, "webhook", originOf(target.url), now);
    // A request that names job states but no events subscribes to no events.
    const events = input.events ?? ((input.job_statuses ?? []).length > 0 ? [] : toldEvents);
    const id = await insertReceiver(db, {
      ...fresh,
      ...choicesOf({ ...fresh, id: 0 }, { ...input, events: [...events] }),
    });
    await updateReceiver(db, id, { secret: await encryptReceiver(db, keys, id, JSON.stringify(target)) });
    const row = (await getReceiver(db, id)) as ReceiverRow;
    await addPing(db, row, team, now);
    await audit(db, actor, { action: "webhook.create", team, target: `webhook ${id}`, detail: row.address }, now);
    return shown(db, keys, row);
  });
  signals.deliveries.wake();
  return { ...webhook, secret: target.secret };
}

type Choices = Pick<UpdateWebhookInput, "format" | "method" | "verify_tls" | "events" | "job_statuses">;

/** Returns the columns for the values in a request. A field that the request leaves out keeps the value from `row`. */
function choicesOf(row: ReceiverRow, input: Choices) {
  const events = input.events ? [...new Set(input.events)] : (JSON.parse(row.events) as ToldEvent[]);
  const statuses = input.job_statuses
    ? [...new Set(input.job_statuses)]
    : (JSON.parse(row.job_statuses) as JobStatus[]);
  if (events.length + statuses.length === 0)
    throw invalid("events", "at least one event or one job state. To send nothing, disable the webhook");
  return {
    format: input.format ?? row.format,
    method: input.method ?? row.method,
    verify_tls: (input.verify_tls ?? row.verify_tls === 1) ? 1 : 0,
    events: JSON.stringify(events),
    job_statuses: JSON.stringify(statuses),
    wanted: wantedWords(events, statuses),
  };
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid("url", "an http:// or https:// URL");
  if (url.username || url.password) throw invalid("url", "a URL without a user name and password in it");
  return url.href;
}

const originOf = (url: string) => new URL(url).origin;

/**
 * Returns the secret that a user chose; undefined if the user chose none. Throws if the secret is too short; the error
 * does not contain the secret.
 */
function readSecret(secret: string | null | undefined): string | undefined {
  if (secret === null || secret === undefined || secret === "") return undefined;
  if (secret.length < shortestSecret) throw invalid("secret", `at least ${shortestSecret} characters`);
  return secret;
}

export async function listWebhooks({ store, keys }: ReceiversContext, team: Team): Promise<Webhook[]> {
  const rows = await listReceivers(store.db, team.id, "webhook");
  return Promise.all(rows.map((row) => shown(store.db, keys, row)));
}

/**
 * Returns a webhook as the API shows it. If its URL cannot be decrypted, only the origin of the URL is shown, so that
 * listing webhooks still works.
 */
async function shown(db: Db, keys: KeyRing, row: ReceiverRow): Promise<Webhook> {
  let url = row.address;
  try {
    url = readTarget(keys, row).url;
  } catch {
    // The origin in `row.address` is shown instead.
  }
  return {
    id: row.id,
    url,
    format: row.format,
    method: row.method,
    verify_tls: row.verify_tls === 1,
    events: JSON.parse(row.events) as ToldEvent[],
    job_statuses: JSON.parse(row.job_statuses) as JobStatus[],
    ...(await stateOf(db, row)),
  };
}

export async function updateWebhook(
  { store, keys, signals }: ReceiversContext,
  input: UpdateWebhookInput,
  { team, actor, now }: ReceiverChange,
): Promise<Webhook> {
  const webhook = await store.write(async (db) => {
    const row = await hold(db, team, input.webhook_id);
    const secret = readSecret(input.secret);
    const url = input.url == null ? undefined : readUrl(input.url);
    const target = secret || url ? await newTarget(db, keys, row, { secret, url }) : {};
    await updateReceiver(db, row.id, { ...choicesOf(row, input), ...target, updated_at: iso(now) });
    await setEnabled(db, row, input.enabled, now);
    const changed = Object.entries(input).flatMap(([name, value]) => (value === null ? [] : [name]));
    const detail = changed.filter((name) => name !== "team_name" && name !== "webhook_id").join(", ");
    await audit(db, actor, { action: "webhook.update", team, target: `webhook ${row.id}`, detail }, now);
    return shown(db, keys, (await getReceiver(db, row.id)) as ReceiverRow);
  });
  signals.deliveries.wake();
  return webhook;
}

async function newTarget(
  db: Db,
  keys: KeyRing,
  row: ReceiverRow,
  { secret, url }: { readonly [Part in keyof Target]: string | undefined },
) {
  const present = readTarget(keys, row);
  const target: Target = { url: url ?? present.url, secret: secret ?? present.secret };
  const encrypted = await encryptReceiver(db, keys, row.id, JSON.stringify(target));
  return { address: originOf(target.url), secret: encrypted };
}

export async function deleteWebhook(
  { store }: ReceiversContext,
  id: number,
  { team, actor, now }: ReceiverChange,
): Promise<void> {
  await store.write(async (db) => {
    const row = await hold(db, team, id);
    await deleteReceiver(db, id);
    await audit(db, actor, { action: "webhook.delete", team, target: `webhook ${id}`, detail: row.address }, now);
  });
}

export const testWebhook = (context: ReceiversContext, id: number, change: ReceiverChange) =>
  testReceiver(context, (db) => hold(db, change.team, id), change);

/**
 * Locks the row of a webhook until the transaction ends, and returns it. Throws if the team does not have the webhook.
 */
async function hold(db: Db, team: Team, id: number): Promise<ReceiverRow> {
  const found = await findWebhook(db, team.id, id);
  const row = found && (await lockReceiver(db, id));
  if (!row) throw noWebhook(team, id);
  return row;
}
