/** Settings: how the local engine runs jobs on this machine. */
import { choice, jobPaths, type UserRange, userRange } from "../parse.ts";
import { group, setting } from "../setting.ts";

export const localEngine = group("Running jobs on this machine", {
  isolation: setting({
    env: "MILLRACE_ISOLATION",
    fallback: "auto",
    description:
      "isolation of jobs from the machine: none, uid or bwrap; auto picks the strongest that works on this machine",
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
  uv: setting({
    env: "MILLRACE_UV",
    fallback: "auto",
    description:
      "builder of virtualenvs: auto uses uv, and installs it into the data folder if this machine has none; machine uses uv only if this machine has it; never uses pip",
    parse: choice("auto", "machine", "never"),
  }),
});
