/** Settings: what one job may use of the machine that runs it. */
import { bytes, integer, memory } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const limits = group("Limits of a job", {
  seconds: setting({
    env: "MILLRACE_JOB_SECONDS",
    fallback: "0",
    description: "maximum run time of a job in seconds, including the build of its virtualenv; 0 means no limit",
    parse: integer(0, 1_000_000_000),
  }),
  memory: setting({
    env: "MILLRACE_JOB_MEMORY",
    fallback: "80%",
    description: "maximum memory of a job, as a size or as a percentage of the machine's memory; 0 means no limit",
    parse: memory,
  }),
  processes: setting({
    env: "MILLRACE_JOB_PROCESSES",
    fallback: "4096",
    description: "maximum number of processes and threads of a job; 0 means no limit",
    parse: integer(0, 4_194_304),
  }),
  openFiles: setting({
    env: "MILLRACE_JOB_OPEN_FILES",
    fallback: "65536",
    description: "maximum number of open files of each process of a job; 0 means the server's own limit",
    parse: integer(0, 1_048_576),
  }),
  log: setting({
    env: "MILLRACE_JOB_LOG",
    fallback: "20GiB",
    description: "maximum size of a job's log; 0 means no limit",
    parse: bytes,
  }),
  disk: setting({
    env: "MILLRACE_JOB_DISK",
    fallback: "100GiB",
    description:
      "maximum disk space of a job: its working and temporary folders, and what it adds to its team's warehouse; 0 means no limit",
    parse: bytes,
  }),
});
