/** Settings: how the local engine runs jobs on this machine. */
import { choice, jobPaths, memory, type UserRange, userRange } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const localEngine = group("Running jobs on this machine", {
  isolation: setting({
    env: "MILLRACE_ISOLATION",
    fallback: "auto",
    description:
      "isolation of jobs from the machine: `none`, `uid` or `bwrap`; `auto` picks the strongest one that works on this machine",
    see: "security.md#levels-of-isolation",
    parse: choice("auto", "none", "uid", "bwrap"),
  }),
  users: setting<UserRange>({
    env: "MILLRACE_JOB_UIDS",
    fallback: "61000-61999",
    description: "user ids that jobs run as when the server runs as root; nothing else may use them",
    parse: userRange,
  }),
  jobPaths: setting({
    env: "MILLRACE_JOB_PATHS",
    fallback: "",
    description:
      "folders of this machine that jobs may use, such as /data:ro,/scratch:rw; file:// repositories must lie below one of them",
    parse: jobPaths,
  }),
  warmMemory: setting({
    env: "MILLRACE_WARM_MEMORY",
    fallback: "5%",
    description:
      "memory for Python interpreters that have imported the dataset library and wait for a job, at the isolation level `bwrap`, as a size or as a percentage of this machine's memory; they are given up while the machine is short of memory, and after ten minutes without use; 0 means none",
    see: "jobs.md#warm-starts",
    parse: memory,
  }),
  uv: setting({
    env: "MILLRACE_UV",
    fallback: "auto",
    description:
      "program that builds virtualenvs; `auto`: uv, which is installed into the data folder if this machine has none; `machine`: uv if this machine has it, otherwise pip; `never`: always pip",
    parse: choice("auto", "machine", "never"),
  }),
});
