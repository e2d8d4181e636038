/**
 * Code that the commands for webhooks and for e-mail notifications share: event names, health, and the outcome of a
 * delivery.
 */
import { type Client, type Delivery, routes, type ToldEvent, toldEvents } from "@millrace/contract";
import { CliError, usageError } from "./errors.ts";
import type { Column, Output } from "./output.ts";
import { closest } from "./parse.ts";

/** Returns the element of `words` that equals the text, ignoring case. Throws if there is none. */
export function readWord<W extends string>(flag: string, text: string, words: readonly W[]): W {
  const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
  if (found) return found;
  const guess = closest(text, words);
  throw usageError(`--${flag}: unknown value '${text}'`, {
    why: guess ? `Did you mean ${guess}?` : `Expected one of ${words.join(", ")}`,
  });
}

/** Parses a list of words, separated by commas or given as several values, as in `--event a,b c`. */
export const readWords = <W extends string>(flag: string, texts: readonly string[], words: readonly W[]): W[] =>
  texts.flatMap((text) => text.split(",")).map((text) => readWord(flag, text.trim(), words));

export const readEvents = (texts: readonly string[]): { events?: ToldEvent[] } =>
  texts.length === 0 ? {} : { events: readWords("event", texts, toldEvents) };

export function readEnabled({ enable, disable }: { enable: boolean; disable: boolean }): { enabled?: boolean } {
  if (enable && disable) throw usageError("--enable and --disable cannot be combined");
  return enable || disable ? { enabled: enable } : {};
}

interface State {
  readonly enabled: boolean;
  readonly failures: number;
}

export const stateText = ({ enabled, failures }: State) =>
  enabled ? (failures > 0 ? `failing (${failures})` : "ok") : "disabled";

export const deliveryColumns: Column<Delivery>[] = [
  { title: "ID", full: ({ id }) => id },
  { title: "TO", full: ({ webhook_id, address }) => (webhook_id === null ? (address ?? "") : `webhook ${webhook_id}`) },
  { title: "EVENT", full: ({ event }) => event },
  { title: "STATUS", full: ({ status }) => status },
  { title: "ATTEMPTS", full: ({ attempts }) => String(attempts) },
  { title: "CREATED", full: ({ created_at }) => created_at, short: ({ created_at }) => created_at.slice(0, 19) },
  { title: "ERROR", full: ({ error }) => error ?? "", shrinks: true },
];

const patience = 30_000;

/**
 * Waits for the first attempt of a delivery and prints the outcome. Returns exit code 0 if the attempt succeeded. If
 * the attempt failed, returns 1 if `json` is true; otherwise throws.
 */
export async function showOutcome(client: Client, first: Delivery, json: boolean, output: Output): Promise<number> {
  const delivery = await outcomeOf(client, first);
  if (json) output.json(delivery);
  else if (delivery.status === "delivered") output.print(`Delivered ${delivery.id}`);
  if (delivery.status === "delivered") return 0;
  if (json) return 1;
  throw new CliError(`The delivery ${delivery.id} has not succeeded`, {
    why: delivery.error ?? "The receiver has not answered yet",
    next: "millrace webhook deliveries",
  });
}

async function outcomeOf(client: Client, first: Delivery): Promise<Delivery> {
  const query = { delivery_id: first.id };
  for (const deadline = Date.now() + patience; ; ) {
    const [delivery = first] = await client.call(routes.listDeliveries, { query });
    const isTried = delivery.status !== "pending" || (delivery.attempts > 0 && delivery.error !== null);
    if (isTried || Date.now() > deadline) return delivery;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
