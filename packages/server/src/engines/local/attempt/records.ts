/** What a backup takes of an attempt. */
import { join } from "node:path";

export const recordNames = ["log", "exit", "usage"] as const;

/** Paths in the data folder; those that are not there were never made, or are gone. */
export const recordsOf = (key: string): string[] => recordNames.map((name) => join("jobs", key, name));
