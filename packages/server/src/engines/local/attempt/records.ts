/** What a backup takes of the folder of an attempt; what is not there was never made, or is gone. */
export const recordNames = ["log", "exit", "usage"] as const;
