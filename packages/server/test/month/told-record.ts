/** The events that receivers of the month got, read from their requests. */
import type { MailServer } from "@millrace/testing/servers/mail-server.ts";
import type { Received, Receiver } from "@millrace/testing/servers/receiver.ts";
import { readSpec } from "../../src/domain/lifecycle/job-documents.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import type { Told } from "./record.ts";
import { toMinute } from "./store-record.ts";

/** One message that a receiver accepted, possibly a repetition. */
export interface Message {
  readonly to: string;
  readonly delivery: string;
  readonly text: string;
  /** The body as it arrived. */
  readonly body: string;
  /** Undefined if only the text identifies the event. */
  readonly event: string | null | undefined;
  readonly timestamp: string;
  readonly state: string | undefined;
  /** Whether it was answered with success. */
  readonly taken: boolean;
}

export function messagesOf(receiver: Receiver, refused: ReadonlySet<Received>, mail: MailServer): Message[] {
  return [
    ...receiver.received.map((got) => ofWebhook(got, !refused.has(got))),
    ...mail.mails.map(({ to, message }) => ofMail(to, message)),
  ].filter(({ text }) => !text.startsWith("Millrace can reach you"));
}

interface Body {
  readonly event?: string | null;
  readonly text: string;
  readonly timestamp?: string;
  readonly job?: { readonly status: string };
}

function ofWebhook({ path, headers, body }: Received, taken: boolean): Message {
  const { event, text, timestamp = "", job } = JSON.parse(body) as Body;
  const delivery = String(headers["x-millrace-delivery"]);
  return { to: path.slice(1), delivery, text, body, event, timestamp, state: job?.status, taken };
}

function ofMail(to: readonly string[], message: string): Message {
  const plain = message.replaceAll("=\r\n", "").replaceAll("=3D", "=");
  const delivery = /^x-millrace-delivery: (\S+)/im.exec(plain)?.[1] ?? "";
  const [, event, timestamp = ""] = /^Event (\S+), (\S+)$/m.exec(plain.replaceAll("\r\n", "\n")) ?? [];
  const text = plain.slice(plain.indexOf("\r\n\r\n")).trim().replaceAll("\r\n", "\n");
  const who = to.map((address) => address.split("@")[0]).join();
  return { to: who, delivery, text, body: text, event, timestamp, state: undefined, taken: true };
}

/** Each delivery once, however often it arrived. */
export async function toldOf(store: Store, messages: readonly Message[]): Promise<Told[]> {
  const { db } = store;
  const pipelines = await db
    .selectFrom("pipelines")
    .select(["id", "name", "scheduled_at"])
    .where("is_template", "=", 0)
    .execute();
  const jobs = await db.selectFrom("jobs").select(["id", "name", "spec"]).execute();
  const once = new Map(messages.map((message) => [message.delivery, message]));
  return [...once.values()].map(({ to, text, event = eventOf(text), timestamp, state }) => {
    const [, pipeline, schedule] = /^The pipeline (\S+) \(schedule (\S+)\)/.exec(text) ?? [];
    const [, job] = /^The job \S+ \(([^)]+)\)/.exec(text) ?? [];
    const [, named = ""] = /^The schedule (\S+)/.exec(text) ?? [];
    const [, tick] = /(?:The tick of|The schedule should have fired at) ([^ ,]+)/.exec(text) ?? [];
    const told = { to, event, ...(state === "FAILED" ? { state: "FAILED" as const } : {}) };
    if (pipeline) {
      const moment = pipelines.find(({ name }) => name === pipeline)?.scheduled_at;
      return { ...told, of: schedule ?? "", moment: toMinute(moment ?? "") };
    }
    const found = jobs.find(({ id }) => id === job);
    if (found) return { ...told, of: found.name ?? "", moment: toMinute(readSpec(found).scheduled_at ?? "") };
    return { ...told, of: named, moment: toMinute(tick ?? timestamp) };
  });
}

/** Events that are identified by a sentence only. */
const eventOf = (text: string) =>
  / is complete again after a failure\./.test(text) ? "pipeline.recovery" : "pipeline.failure";
