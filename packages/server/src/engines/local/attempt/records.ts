/** Files of an attempt's folder that a backup copies, if they exist. */
export const recordNames = ["log", "exit", "usage"] as const;
