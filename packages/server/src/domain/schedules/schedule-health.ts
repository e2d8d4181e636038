/** Health of a schedule: a pure function of its row and the time, so that it is cheap for long lists. */
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
  /** Explanation for people; null if the health is ok. */
  readonly reason: string | null;
}

/**
 * Returns the health of a schedule. A reason why it does not fire at all takes precedence over failures of its runs.
 */
export function healthOf(facts: HealthFacts, now: number, ownerProblem: string | null = null): Health {
  if (facts.is_paused === 1)
    return { health: "paused", reason: "The schedule is paused. It fires nothing until it is resumed." };
  const late = facts.next_run === null ? 0 : now - Date.parse(facts.next_run);
  if (late >= punctual)
    return {
      health: "overdue",
      reason: `The schedule should have fired at ${facts.next_run}, ${lengthText(late)} ago, but has not. Either no server runs, the server's disk is nearly full, or the server's clock cannot be trusted. The log of the server says which.`,
    };
  if (ownerProblem !== null) return { health: "failing", reason: ownerProblem };
  if (facts.failures_in_row > 0)
    return { health: "failing", reason: inRow(facts.failures_in_row, "run", "failed", facts.failure_reason) };
  if (facts.skips_in_row > 0)
    return { health: "skipping", reason: inRow(facts.skips_in_row, "tick", "started no run", facts.skip_reason) };
  return { health: "ok", reason: null };
}

function inRow(count: number, noun: string, what: string, why: string | null): string {
  const who = count === 1 ? `The last ${noun}` : `The last ${count} ${noun}s`;
  return why ? `${who} ${what}: ${why}` : `${who} ${what}.`;
}

/** Formats a duration in the largest unit that gives a number of two or more: 90 minutes, 2 hours. */
function lengthText(milliseconds: number): string {
  const [unit, length] = units.find(([, size]) => milliseconds >= 2 * size) ?? minute;
  const count = Math.floor(milliseconds / length);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

const minute = ["minute", 60_000] as const;
const units = [["day", day] as const, ["hour", 3_600_000] as const, minute];
