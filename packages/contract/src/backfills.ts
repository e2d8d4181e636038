/** Backfills: runs of a pipeline for past moments. */

/** STOPPED: at a failure; with FAILED every moment has had its run, and some failed. */
export type BackfillStatus = "RUNNING" | "COMPLETED" | "FAILED" | "STOPPED" | "CANCELED";

/** What becomes of the moments that are left when one has failed. */
export type BackfillFailurePolicy = "stop" | "continue";
