/** Resource limits of an attempt, and what the job's owner is told if it exceeds one. The same for all engines. */

/** Limits of an attempt: run time in seconds; memory, log and disk in bytes. 0 means no limit. */
export interface JobLimits {
  readonly seconds: number;
  readonly memory: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly log: number;
  readonly disk: number;
}

/** Limits of an attempt on another machine: its memory may be a percentage of that machine's. */
export interface RemoteLimits extends Omit<JobLimits, "memory"> {
  readonly memory: number | `${number}%`;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
/** Formats a number of bytes with the units of the settings, such as `2 GiB`. */
function size(bytes: number): string {
  let power = 0;
  for (; power < units.length - 1 && bytes >= 1024 ** (power + 1); power++);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
}

const over = (what: string, setting: string) =>
  `The job was ended because it exceeded its limit of ${what} (server setting ${setting}).`;

export const overMemory = ({ memory }: Pick<RemoteLimits, "memory">) =>
  over(
    typeof memory === "number" ? `${size(memory)} of memory` : `${memory} of its machine's memory`,
    "MILLRACE_JOB_MEMORY",
  );

export const overDisk = ({ disk }: Pick<JobLimits, "disk">, where = "its folders") =>
  over(`${size(disk)} in ${where}`, "MILLRACE_JOB_DISK");

export const overSeconds = ({ seconds }: Pick<JobLimits, "seconds">) =>
  over(`${seconds} seconds`, "MILLRACE_JOB_SECONDS");

export const overProcesses = ({ processes }: Pick<JobLimits, "processes">) =>
  over(`${processes} processes`, "MILLRACE_JOB_PROCESSES");

export const overLogSize = ({ log }: Pick<JobLimits, "log">) => over(`${size(log)} of log`, "MILLRACE_JOB_LOG");
