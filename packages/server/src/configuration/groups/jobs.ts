/** Settings: how jobs run, on any engine. */
import { availableParallelism } from "node:os";
import { defaultLibrary } from "../../datachain/library.ts";
import { integer, libraryVersion, timezone } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const jobs = group("Jobs", {
  maxWorkers: setting({
    env: "MILLRACE_MAX_WORKERS",
    fallback: String(availableParallelism()),
    fallbackInWords: "the number of cores",
    description: "slots of the local cluster: the total number of workers of the jobs that run at the same time",
    parse: integer(1, 100_000),
  }),
  libraryVersion: setting({
    env: "MILLRACE_LIBRARY_VERSION",
    fallback: defaultLibrary,
    description: "version of the library datachain when neither the job nor the team pins one",
    parse: libraryVersion,
  }),
  timezone: setting({
    env: "MILLRACE_TIMEZONE",
    fallback: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    fallbackInWords: "the machine's",
    description: "IANA time zone for a start_after without a UTC offset",
    parse: timezone,
  }),
  cancelGrace: setting({
    env: "MILLRACE_CANCEL_GRACE",
    fallback: "10",
    description: "seconds between SIGTERM and SIGKILL when a job is canceled",
    parse: integer(0, 86_400),
  }),
});

export type JobSettings = Values<typeof jobs>;
