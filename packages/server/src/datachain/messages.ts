/** Patterns of the datachain library's error messages. Millrace matches them in job logs to explain failures. */

/**
 * Matches the error for a missing dataset, with or without namespace and version. The group is the dataset's short
 * name.
 */
export const datasetNotFound = /\bDataset (?:\S+\.)?([^\s.]{1,255}) (?:version \S+ +)?not found\b/;

/**
 * Matches the error that reports that a UDF process failed. The error does not say why. The reason is in an earlier
 * traceback, which contains lines of the library (`isOfLibrary`).
 */
export const runnerFailed = /^RuntimeError: UDF Execution Failed! Exit code: \d+$/;
export const isOfLibrary = (line: string) => line.includes("/datachain/");

/** Matches the error that a worker of a UDF process died. The group is the worker's name. */
export const workerGone = /^RuntimeError: Worker (\S+) exited unexpectedly/;

/**
 * Matches the error for a UDF worker or a UDF process that a signal killed. The signal number is in group 1 for a
 * worker and in group 2 for a process.
 */
export const endedBySignal = /exited unexpectedly with code -(\d+)$|UDF Execution Failed! Exit code: -(\d+)$/;

/**
 * Beginning of the line for a UdfRunError. With this exception, the library passes a worker's exception to the parent
 * process. Messages leave the beginning out, because it adds no information.
 */
export const carrier = "datachain.lib.udf.UdfRunError: ";
