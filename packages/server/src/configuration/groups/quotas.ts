/** Settings: the default quotas of a team. An administrator can set other values for one team. */
import { bytes, integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const quotas = group("Quotas of a team", {
  running: setting({
    env: "MILLRACE_TEAM_RUNNING",
    fallback: "0",
    description: "maximum number of a team's jobs that run at the same time; 0 means no limit",
    parse: integer(0, 1_000_000),
  }),
  queued: setting({
    env: "MILLRACE_TEAM_QUEUED",
    fallback: "10000",
    description: "maximum number of a team's waiting jobs; 0 means no limit",
    parse: integer(0, 100_000_000),
  }),
  tasks: setting({
    env: "MILLRACE_TEAM_TASKS",
    fallback: "1000",
    description: "maximum number of a team's waiting tasks; 0 means no limit",
    parse: integer(0, 1_000_000),
  }),
  schedules: setting({
    env: "MILLRACE_TEAM_SCHEDULES",
    fallback: "1000",
    description: "maximum number of a team's schedules; 0 means no limit",
    parse: integer(0, 1_000_000),
  }),
  datasets: setting({
    env: "MILLRACE_TEAM_DATASETS",
    fallback: "500GiB",
    description: "maximum disk space of a team's warehouse; 0 means no limit",
    parse: bytes,
  }),
  uploads: setting({
    env: "MILLRACE_TEAM_UPLOADS",
    fallback: "100GiB",
    description: "maximum disk space of a team's uploaded files; 0 means no limit",
    parse: bytes,
  }),
  logs: setting({
    env: "MILLRACE_TEAM_LOGS",
    fallback: "100GiB",
    description:
      "maximum disk space of the logs of a team's ended jobs; beyond it, the oldest are deleted; 0 means no limit",
    parse: bytes,
  }),
  texts: setting({
    env: "MILLRACE_TEAM_TEXTS",
    fallback: "10GiB",
    description:
      "maximum space in the database for long texts of a team's jobs (scripts, requirements, params), each counted once; 0 means no limit",
    parse: bytes,
  }),
  exports: setting({
    env: "MILLRACE_TEAM_EXPORTS",
    fallback: "200GiB",
    description: "maximum disk space of a team's exports; 0 means no limit",
    parse: bytes,
  }),
  environments: setting({
    env: "MILLRACE_TEAM_ENVIRONMENTS",
    fallback: "100GiB",
    description:
      "maximum disk space of a team's virtualenvs; beyond it, the least recently used are deleted; 0 means no limit",
    parse: bytes,
  }),
});

export type QuotaSettings = Values<typeof quotas>;
