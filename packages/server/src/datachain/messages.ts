/** Patterns of the datachain library's error messages. Millrace matches them in job logs to explain failures. */

/** Matches the error for a missing dataset, with or without namespace and version. The group is the dataset's short name. */
export const datasetNotFound = /\bDataset (?:\S+\.)?([^\s.]{1,255}) (?:version \S+ +)?not found\b/;

/**
 * Matches the error that reports a failed UDF process. It does not say why; that is in an earlier traceback, which has
 * lines of the library (`isOfLibrary`).
 */
export const runnerFailed = /^RuntimeError: UDF Execution Failed! Exit code: \d+$/;
export const isOfLibrary = (line: string) => line.includes("/datachain/");

/** Matches the error for a worker of a UDF process that died. The group is the worker's name. */
export const workerGone = /^RuntimeError: Worker (\S+) exited unexpectedly/;

/** Matches the error for a UDF worker (group 1) or UDF process (group 2) that a signal killed. Groups: the signal number. */
export const endedBySignal = /exited unexpectedly with code -(\d+)$|UDF Execution Failed! Exit code: -(\d+)$/;

/** Prefix of the exception that passes a worker's exception on to the parent process. It adds no information. */
export const carrier = "datachain.lib.udf.UdfRunError: ";
