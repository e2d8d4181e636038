/** Settings of jobs in words, the same wherever they are shown or chosen. */
import type { QueryType } from "@millrace/contract";

/** Priorities from 0 on. All are before the usual one, which is last. */
export const priorities = ["Highest: before all others", "Very high", "High", "Raised", "Slightly raised", "Normal"];

export const priorityText = (priority: number) => priorities[priority] ?? String(priority);

export const languages: Readonly<Record<QueryType, string>> = {
  PYTHON: "Python",
  SHELL: "Shell",
  TYPESCRIPT: "TypeScript",
};
