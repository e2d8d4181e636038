/** `millrace webhook`: manages URLs that receive events of jobs, pipelines and schedules. */
import {
  deliveryStatuses,
  routes,
  toldStatuses,
  type Webhook,
  webhookFormats,
  webhookMethods,
} from "@millrace/contract";
import { type Connection, connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column, Output } from "../output.ts";
import { deliveryColumns, readEnabled, readEvents, readWord, readWords, showOutcome, stateText } from "../receivers.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const toldText = ({ events, job_statuses }: Webhook) =>
  [...events, ...job_statuses.map((one) => `job ${one}`)].join(", ");

const columns: Column<Webhook>[] = [
  { title: "ID", full: ({ id }) => String(id) },
  { title: "URL", full: ({ url }) => url, shrinks: "last" },
  { title: "STATE", full: stateText },
  { title: "WAITING", full: ({ waiting }) => String(waiting) },
  { title: "FORMAT", full: ({ format }) => format },
  { title: "TELLS", full: toldText, shrinks: true },
];

interface Choices {
  readonly event: readonly string[];
  readonly "job-status": readonly string[];
  readonly format: string | undefined;
  readonly method: string | undefined;
  readonly "secret-file": string | undefined;
}

/** Returns the fields of the request, read from the flags. */
async function readChoices(flags: Choices) {
  const statuses = flags["job-status"];
  const { format, method } = flags;
  return {
    ...readEvents(flags.event),
    ...(statuses.length === 0 ? {} : { job_statuses: readWords("job-status", statuses, toldStatuses) }),
    ...(format === undefined ? {} : { format: readWord("format", format, webhookFormats) }),
    ...(method === undefined ? {} : { method: readWord("method", method, webhookMethods) }),
    ...(flags["secret-file"] === undefined ? {} : { secret: await readSecret(flags["secret-file"]) }),
  };
}

async function readSecret(file: string): Promise<string> {
  const { readText } = await import("../job/compose.ts");
  const secret = (file === "-" ? readText("standard input", 0) : readText(file)).trim();
  if (secret === "") throw usageError(`--secret-file ${file}: the secret is empty`);
  return secret;
}

const create: Handler<"webhook create"> = async ({ flags, arguments: { URL: url } }, output) => {
  const { client } = await connect(flags);
  const tls = flags.insecure ? { verify_tls: false } : {};
  const webhook = await client.call(routes.createWebhook, { body: { url, ...(await readChoices(flags)), ...tls } });
  if (flags.json) {
    output.json(webhook);
    return 0;
  }
  show(webhook, output);
  if (flags["secret-file"] === undefined) {
    output.print(`secret: ${webhook.secret}`);
    output.note("Keep the secret, which is not shown again: the receiver needs it to verify signatures.");
  }
  output.note(`A PING is being sent; see its outcome: millrace webhook deliveries ${webhook.id}`);
  return 0;
};

function show(webhook: Webhook, output: Output): void {
  const fields: [string, string][] = [
    ["id", String(webhook.id)],
    ["url", webhook.url],
    ["state", stateText(webhook)],
    ["reason", webhook.disabled_reason ?? ""],
    ["waiting", String(webhook.waiting)],
    ["dropped", webhook.dropped > 0 ? String(webhook.dropped) : ""],
    ["events", webhook.events.join("\n")],
    ["job states", webhook.job_statuses.join(", ")],
    ["format", webhook.format],
    ["method", webhook.method],
    ["TLS checked", webhook.verify_tls ? "yes" : "no"],
    ["created", webhook.created_at],
  ];
  output.fields(fields.filter(([, value]) => value !== ""));
}

const ls: Handler<"webhook ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const webhooks = await client.call(routes.listWebhooks, { query: {} });
  if (flags.json) output.json(webhooks);
  else if (webhooks.length === 0) output.note("No webhooks found. Create one: millrace webhook create URL");
  else output.table(columns, webhooks);
  return 0;
};

const readId = (text: string): number => {
  const id = Number(text);
  if (!Number.isInteger(id) || id < 1)
    throw usageError(`'${text}' is not the id of a webhook`, { next: "millrace webhook ls" });
  return id;
};

async function find({ client }: Connection, text: string): Promise<Webhook> {
  const id = readId(text);
  const found = (await client.call(routes.listWebhooks, { query: {} })).find((one) => one.id === id);
  if (found) return found;
  throw new CliError(`There is no webhook ${id} in this team`, { next: "millrace webhook ls" });
}

const showOne: Handler<"webhook show"> = async ({ flags, arguments: { ID } }, output) => {
  const webhook = await find(await connect(flags), ID);
  if (flags.json) output.json(webhook);
  else show(webhook, output);
  return 0;
};

const test: Handler<"webhook test"> = async ({ flags, arguments: { ID } }, output) => {
  const { client } = await connect(flags);
  const delivery = await client.call(routes.testWebhook, { body: { webhook_id: readId(ID) } });
  return showOutcome(client, delivery, flags.json, output);
};

const update: Handler<"webhook update"> = async ({ flags, arguments: { ID } }, output) => {
  if (flags.insecure && flags.secure) throw usageError("--insecure and --secure cannot be combined");
  const changes = {
    ...(await readChoices(flags)),
    ...readEnabled(flags),
    ...(flags.address === undefined ? {} : { url: flags.address }),
    ...(flags.insecure || flags.secure ? { verify_tls: flags.secure } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace webhook update --help" });
  const { client } = await connect(flags);
  const webhook = await client.call(routes.updateWebhook, { body: { webhook_id: readId(ID), ...changes } });
  if (flags.json) output.json(webhook);
  else show(webhook, output);
  return 0;
};

const rm: Handler<"webhook rm"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  if (!flags.yes) {
    const { askOnTerminal } = await import("../prompt.ts");
    await askOnTerminal(async () => {
      const { url, waiting } = await find(connection, ID);
      const what = waiting > 0 ? `, and ${waiting} waiting deliveries will not be sent` : "";
      return `The webhook ${ID} to ${url} and its secret will be deleted${what}.`;
    });
  }
  output.print((await connection.client.call(routes.deleteWebhook, { body: { webhook_id: readId(ID) } })).message);
  return 0;
};

const deliveries: Handler<"webhook deliveries"> = async ({ flags, arguments: { ID } }, output) => {
  const { client } = await connect(flags);
  const query = {
    ...(ID === undefined ? {} : { webhook_id: readId(ID) }),
    ...(flags.address === undefined ? {} : { mail_address: flags.address }),
    ...(flags.status === undefined ? {} : { delivery_status: readWord("status", flags.status, deliveryStatuses) }),
    ...(flags.limit === undefined ? {} : { limit: flags.limit }),
  };
  const found = await client.call(routes.listDeliveries, { query });
  if (flags.json) output.json(found);
  else if (found.length === 0) output.note("No deliveries found.");
  else output.table(deliveryColumns, found);
  return 0;
};

const redeliver: Handler<"webhook redeliver"> = async ({ flags, arguments: { DELIVERY } }, output) => {
  const { client } = await connect(flags);
  const delivery = await client.call(routes.redeliver, { body: { delivery_id: DELIVERY } });
  return showOutcome(client, delivery, flags.json, output);
};

export const handlers: HandlersOf<"webhook"> = {
  "webhook create": create,
  "webhook ls": ls,
  "webhook show": showOne,
  "webhook test": test,
  "webhook update": update,
  "webhook rm": rm,
  "webhook deliveries": deliveries,
  "webhook redeliver": redeliver,
};
