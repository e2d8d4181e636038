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

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
/** Formats a number of bytes with the units of the settings, such as `2 GiB`. */
function size(bytes: number): string {
  let power = 0;
  for (; power < units.length - 1 && bytes >= 1024 ** (power + 1); power++);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
}

/** `settingOf` tells what sets a limit. */
function limitWords(settingOf: (limit: keyof JobLimits) => string) {
  const over = (what: string, limit: keyof JobLimits) =>
    `The job was ended because it exceeded its limit of ${what} (${settingOf(limit)}).`;
  return {
    overMemory: ({ memory }: Pick<JobLimits, "memory">) => over(`${size(memory)} of memory`, "memory"),
    overDisk: ({ disk }: Pick<JobLimits, "disk">, where = "its folders") => over(`${size(disk)} in ${where}`, "disk"),
    overSeconds: ({ seconds }: Pick<JobLimits, "seconds">) => over(`${seconds} seconds`, "seconds"),
    overProcesses: ({ processes }: Pick<JobLimits, "processes">) => over(`${processes} processes`, "processes"),
    overLogSize: ({ log }: Pick<JobLimits, "log">) => over(`${size(log)} of log`, "log"),
  };
}

/** Limits of the server's own machine. */
export const { overMemory, overDisk, overSeconds, overLogSize } = limitWords(
  (limit) => `server setting MILLRACE_JOB_${limit.toUpperCase()}`,
);

/** Limits of a managed cluster. */
export const clusterLimits = limitWords((limit) => `option job_${limit} of its cluster`);
