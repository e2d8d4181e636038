/** What the library says when it fails, as far as Millrace reads it. */

/** A dataset that is not there: with a version between, or with the whole name. The group is the short name. */
export const datasetNotFound = /\bDataset (?:\S+\.)?([^\s.]{1,255}) (?:version \S+ +)?not found\b/;

/** The process that runs functions failed. The reason is in its own traceback, which names files of the library. */
export const runnerFailed = /^RuntimeError: UDF Execution Failed! Exit code: \d+$/;
export const isOfLibrary = (line: string) => line.includes("/datachain/");

/** A worker of that process ended. The group is the worker's name. */
export const workerGone = /^RuntimeError: Worker (\S+) exited unexpectedly/;

/** One of the two was ended by a signal. The groups are the signal's number, of the worker or of the process. */
export const endedBySignal = /exited unexpectedly with code -(\d+)$|UDF Execution Failed! Exit code: -(\d+)$/;

/** Begins the exception that only carries another from a worker to its parent. */
export const carrier = "datachain.lib.udf.UdfRunError: ";
