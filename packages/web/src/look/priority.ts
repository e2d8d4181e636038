/** Priorities of jobs in words, from 0. All are before the default, which is last. */
export const priorities = [
  "Highest: before all others",
  "Very high",
  "High",
  "Raised",
  "Slightly raised",
  "Normal",
] as const;
