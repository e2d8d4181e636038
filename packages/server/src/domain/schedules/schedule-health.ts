/** How a schedule fares: a pure function of its row and of the time, so that lists can tell it of a thousand. */
import type { ScheduleHealth } from "@millrace/contract";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { day } from "../time/clock.ts";
import { punctual } from "./schedule-times.ts";

export type HealthFacts = Pick<
  ScheduleRow,
  "is_paused" | "next_run" | "skips_in_row" | "skip_reason" | "failures_in_row" | "failure_reason"
>;

export interface Health {
  readonly health: ScheduleHealth;
  /** In plain words; null: it is ok. */
  readonly reason: string | null;
}

/** What keeps it from running comes first: a schedule that does not fire at all cannot recover either. */
export function healthOf(facts: HealthFacts, now: number, ownerProblem: string | null = null): Health {
  if (facts.is_paused === 1) return { health: "paused", reason: "It is paused: nothing fires until it is resumed." };
  const late = facts.next_run === null ? 0 : now - Date.parse(facts.next_run);
  if (late >= punctual)
    return {
      health: "overdue",
      reason: `It was to fire at ${facts.next_run}, ${lengthText(late)} ago, and has not: no server fires schedules, its disk is nearly full, or its clock is in doubt. The server's log tells which.`,
    };
  if (ownerProblem !== null) return { health: "failing", reason: ownerProblem };
  if (facts.failures_in_row > 0)
    return { health: "failing", reason: inRow(facts.failures_in_row, "run", "failed", facts.failure_reason) };
  if (facts.skips_in_row > 0)
    return { health: "skipping", reason: inRow(facts.skips_in_row, "tick", "came to nothing", facts.skip_reason) };
  return { health: "ok", reason: null };
}

function inRow(count: number, noun: string, what: string, why: string | null): string {
  const who = count === 1 ? `The last ${noun}` : `The last ${count} ${noun}s`;
  return why ? `${who} ${what}: ${why}` : `${who} ${what}.`;
}

/** In the largest unit of which there are two: nobody asks after how many minutes of a day. */
function lengthText(milliseconds: number): string {
  const [unit, length] = units.find(([, size]) => milliseconds >= 2 * size) ?? minute;
  const count = Math.floor(milliseconds / length);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

const minute = ["minute", 60_000] as const;
const units = [["day", day] as const, ["hour", 3_600_000] as const, minute];
