/**
 * Builds the message for a receiver: the event as a sentence, and the body of a webhook request or the text of an
 * e-mail.
 */
import type { ToldEvent, WebhookFormat } from "@millrace/contract";
import type { DeliveryRow } from "../../store/queries/events/deliveries.ts";
import type { OutboxRow } from "../../store/queries/events/outbox.ts";

/** A row of the outbox, with the further data that its message needs. */
export interface Told extends OutboxRow {
  /** ISO time of the event. */
  readonly at: string;
  /**
   * Event that receivers can subscribe to. Undefined if the outbox row stands for no such event, for example if it says
   * that a job has begun.
   */
  readonly event: ToldEvent | undefined;
  readonly team: string;
  /** URL of the job's page; null if the event is not about a job. */
  readonly url: string | null;
  /**
   * Name of the schedule that started the pipeline; null if no schedule started it, or if the event is not about a
   * pipeline.
   */
  readonly schedule: string | null;
}

/** The content of a message, before it is formatted for a receiver. */
export interface Notice {
  readonly kind: DeliveryRow["kind"];
  readonly event: string;
  readonly title: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Returns the message for an event. */
export function noticeOf(told: Told): Notice {
  const title = sentence(told);
  const { event = null, team, at } = told;
  const shared = { event, team, timestamp: at, text: told.url ? `${title} ${told.url}` : title };
  if (told.kind === "schedule") {
    const schedule = { id: Number(told.subject), name: told.name, message: told.message };
    return { kind: "SCHEDULE", event: event ?? told.status, title, body: { action: event, schedule, ...shared } };
  }
  const state = {
    id: told.subject,
    status: told.status,
    error_message: told.message,
    name: told.name,
    created_at: told.created_at,
    updated_at: at,
    finished_at: isOver(told) ? at : null,
  };
  if (told.kind === "pipeline") {
    const pipeline = { ...state, schedule_name: told.schedule };
    return {
      kind: "PIPELINE",
      event: event ?? told.status,
      title,
      body: { action: "pipeline_status", pipeline, ...shared },
    };
  }
  const job = { ...state, url: told.url };
  return { kind: "JOB", event: event ?? `job ${told.status}`, title, body: { action: "job_status", job, ...shared } };
}

const isOver = ({ status }: Told) => ["COMPLETE", "COMPLETED", "FAILED", "CANCELED"].includes(status);

/** Returns the test message that is sent to a new receiver and on request. */
export function pingOf(team: string, at: string): Notice {
  const message = `Millrace can reach you: this is a test message of the team ${team}.`;
  return {
    kind: "PING",
    event: "PING",
    title: message,
    body: { action: "PING", message, team, timestamp: at, text: message },
  };
}

/** Describes an event in one sentence. */
function sentence(told: Told): string {
  const { kind, name, subject, team, message, event } = told;
  const why = message ? `: ${message}` : ".";
  const of = `of the team ${team}`;
  if (kind === "schedule") {
    const schedule = `The schedule ${name} ${of}`;
    if (event === "schedule.skip") return `${schedule} skipped a run${why}`;
    if (event === "schedule.overdue") return `${schedule} is overdue${why}`;
    return event === "schedule.recovery" ? `${schedule} runs again.` : `${schedule} could not run${why}`;
  }
  const by = told.schedule === null ? "" : ` (schedule ${told.schedule})`;
  const what =
    kind === "pipeline"
      ? `The pipeline ${name}${by} ${of}`
      : `The job ${name === null ? subject : `${name} (${subject})`} ${of}`;
  if (event === "job.recovery" || event === "pipeline.recovery") return `${what} is complete again after a failure.`;
  return told.status === "FAILED" ? `${what} failed${why}` : `${what} is ${told.status}.`;
}

/** Returns the body to send. It is stored with the delivery, so that every attempt sends the same bytes. */
export function bodyText(notice: Notice, id: string, format: WebhookFormat | "mail"): string {
  if (format === "mail") return `${notice.body["text"]}\n\nEvent ${notice.event}, ${notice.body["timestamp"]}\n`;
  if (format === "slack") return JSON.stringify({ text: escapeSlack(String(notice.body["text"])) });
  const json = JSON.stringify({ ...notice.body, delivery_id: id });
  return format === "form" ? new URLSearchParams({ payload: json }).toString() : json;
}

/** Escapes the characters that have a special meaning in Slack messages. */
const escapeSlack = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
