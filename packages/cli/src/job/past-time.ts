/** Parses `--since` and `--until`: a date, or an English phrase for a past time. */
import { usageError } from "../errors.ts";
import { isoDate, units } from "./start-time.ts";

/**
 * Parses a past time and returns it in UTC, because the server may be in another time zone. If the text has no UTC
 * offset, it is in the user's time zone.
 */
export function parsePastTime(flag: string, text: string, now = new Date()): string {
  const words = text.trim().toLowerCase();
  const date = isoDate(words) ?? ago(words, now) ?? dayOf(words, now);
  if (date && !Number.isNaN(date.getTime())) return date.toISOString();
  throw usageError(`--${flag}: '${text}' is not a valid time`, {
    why: "Expected 2026-01-31T09:00 (with an offset, or in your own time zone), '2 hours ago', today or yesterday",
    next: "millrace job ls --help",
  });
}

function ago(text: string, now: Date): Date | undefined {
  if (text === "now") return now;
  const match = /^(\d+|an?) (second|minute|hour|day|week)s? ago$/.exec(text);
  if (!match) return undefined;
  const [, count = "", unit = ""] = match;
  return new Date(now.getTime() - (/^\d/.test(count) ? Number(count) : 1) * (units[unit] ?? 0));
}

function dayOf(text: string, now: Date): Date | undefined {
  if (text !== "today" && text !== "yesterday") return undefined;
  const date = new Date(now);
  date.setHours(0, 0, 0, 0);
  if (text === "yesterday") date.setDate(date.getDate() - 1);
  return date;
}
