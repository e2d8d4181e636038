/** Settings: what one job may use of the machine that runs it. */
import { totalmem } from "node:os";
import { bytes, integer, type Memory, memory } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

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
    description:
      "maximum memory of a job, as a size or as a percentage of the memory of the machine that runs it; 0 means no limit",
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

type Limits = Values<typeof limits>;

/** Returns the limits of a job that runs on this machine, with its memory in bytes. */
export const limitsHere = (all: Limits): Omit<Limits, "memory"> & { readonly memory: number } => ({
  ...all,
  memory: bytesHere(all.memory),
});

/** Returns an amount of memory in bytes. A percentage is one of this machine's memory. */
export const bytesHere = (memory: Memory) =>
  typeof memory === "number" ? memory : Math.floor((totalmem() * Number.parseInt(memory, 10)) / 100);
