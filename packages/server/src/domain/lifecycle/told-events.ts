/**
 * Events that receivers (webhooks and e-mail addresses) can subscribe to, and how the events of a schedule are written
 * to the outbox.
 */
import type { JobStatus, ToldEvent } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { noteEvent } from "../../store/queries/events/outbox.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { iso } from "../time/clock.ts";

/**
 * The outbox entries from which each event is computed. A recovery is a success after a failure, so it needs the
 * entries of both.
 */
const wordsOf: Record<ToldEvent, readonly string[]> = {
  "job.failure": ["job:FAILED"],
  "job.recovery": ["job:FAILED", "job:COMPLETE"],
  "pipeline.failure": ["pipeline:FAILED"],
  "pipeline.recovery": ["pipeline:FAILED", "pipeline:COMPLETED"],
  "schedule.failure": ["schedule:failure"],
  "schedule.recovery": ["schedule:failure", "schedule:fired"],
  "schedule.skip": ["schedule:skip"],
  "schedule.overdue": ["schedule:overdue"],
};

/**
 * Returns the outbox entries that a receiver needs, such as `job:FAILED`, in one text. Each entry has a space before
 * and after it, so that a LIKE pattern can find the entry.
 */
export function wantedWords(events: readonly ToldEvent[], statuses: readonly JobStatus[]): string {
  const words = new Set([...events.flatMap((event) => wordsOf[event]), ...statuses.map((status) => `job:${status}`)]);
  return ` ${[...words].join(" ")} `;
}

/** An event of a schedule: a tick fired, failed or was skipped, or a tick did not fire in time (`overdue`). */
export interface ScheduleEvent {
  readonly event: "failure" | "fired" | "skip" | "overdue";
  readonly message: string | null;
}

/**
 * Writes an event of a schedule to the outbox. Call it in the transaction that causes the event. Returns false if no
 * receiver subscribes to the event, or if the outbox is full.
 */
export const noteSchedule = (
  db: Db,
  { team_id, id, name, created_at }: Pick<ScheduleRow, "team_id" | "id" | "name" | "created_at">,
  { event, message }: ScheduleEvent,
  now: number,
): Promise<boolean> =>
  noteEvent(db, {
    team_id,
    kind: "schedule",
    subject: String(id),
    name,
    status: event,
    message,
    at: iso(now),
    created_at,
  });
