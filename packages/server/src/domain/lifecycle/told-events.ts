/** Which events there are, what each needs the outbox to take, and how what happens to a schedule gets there. */
import type { JobStatus, ToldEvent } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { noteEvent } from "../../store/queries/events/outbox.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { iso } from "../time/clock.ts";

/** A recovery is a success after a failure: who wants to hear of it must hear of both. */
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

/** What of it the store looks for, as words between blanks. */
export function wantedWords(events: readonly ToldEvent[], statuses: readonly JobStatus[]): string {
  const words = new Set([...events.flatMap((event) => wordsOf[event]), ...statuses.map((status) => `job:${status}`)]);
  return ` ${[...words].join(" ")} `;
}

/** What became of a tick of a schedule, or of one that did not come. */
export interface ScheduleEvent {
  readonly event: "failure" | "fired" | "skip" | "overdue";
  readonly message: string | null;
}

/** Call it inside the write that makes it so. Returns whether somebody listens. */
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
