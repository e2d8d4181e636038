/** Teams: their members work together, within the team's quotas. */
import type { Static } from "typebox";
import { roles } from "./access.ts";
import { oldestLibrary } from "./library.ts";
import { fieldLimits } from "./limits.ts";
import { retriesText, retryDelayText, teamRetryInput, timeoutText } from "./retries.ts";
import { access, defineRoute } from "./routes.ts";
import { maybe, Name, nullable, oneOf, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

export const Team = Type.Object(
  {
    name: Type.String(),
    role: nullable(oneOf(roles, { description: "the caller's role; null if not a member" })),
    members: Type.Integer(),
    max_running: nullable(Type.Integer({ description: "jobs that may run at once; null: the server's default" })),
    max_queued: nullable(Type.Integer({ description: "jobs that may wait; null: the server's default" })),
    max_tasks: nullable(Type.Integer({ description: "tasks that may wait; null: the server's default" })),
    max_schedules: nullable(Type.Integer({ description: "schedules that it may have; null: the server's default" })),
    max_dataset_bytes: nullable(
      Type.Integer({ description: "largest size of its warehouse; null: the server's default" }),
    ),
    max_upload_bytes: nullable(
      Type.Integer({ description: "largest size of its uploads; null: the server's default" }),
    ),
    max_log_bytes: nullable(
      Type.Integer({ description: "largest size of the logs of its ended jobs; null: the server's default" }),
    ),
    max_text_bytes: nullable(
      Type.Integer({
        description: "largest size of the long texts of its jobs in the database; null: the server's default",
      }),
    ),
    max_export_bytes: nullable(
      Type.Integer({ description: "largest size of its export files; null: the server's default" }),
    ),
    max_environment_bytes: nullable(
      Type.Integer({ description: "largest size of the environments of its jobs; null: the server's default" }),
    ),
    library_version: nullable(
      Type.String({ description: "datachain release for jobs that pin none; null: the server's default" }),
    ),
    job_timeout: nullable(Type.Integer({ description: `default for the team's jobs: ${timeoutText}; null: no limit` })),
    job_retries: nullable(Type.Integer({ description: `default for the team's jobs: ${retriesText}; null: never` })),
    job_retry_delay: nullable(Type.Integer({ description: `default for the team's jobs: ${retryDelayText}` })),
    created_at: Timestamp,
  },
  { $id: "Team" },
);
export type Team = Static<typeof Team>;

const used = (what: string) =>
  Type.Object({
    bytes: Type.Integer({ description: what }),
    quota: nullable(Type.Integer({ description: "bytes; null: no limit" })),
  });

export const TeamUsage = Type.Object(
  {
    datasets: used("the team's warehouse, without its daily copies, on disk"),
    uploads: used("uploaded files, on disk"),
    logs: used("logs of ended jobs, on disk"),
    texts: used("long texts of jobs in the database; a text that several jobs share counts once"),
    exports: used("files of exports, on disk"),
    environments: used("environments of jobs, on disk"),
  },
  { $id: "TeamUsage", description: "Counted every few seconds." },
);
export type TeamUsage = Static<typeof TeamUsage>;

/** The team as part of the path. */
export const TeamParams = Type.Object({ team_name: TeamName });

/** Access that administrators of the server have in every team. */
export const teamAccess = (level: "read" | "write", role: "viewer" | "admin") =>
  ({ ...access("ADMIN", level, role), administrators: true }) as const;

const quota = maybe(
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: "set by administrators; 0: the server's default" }),
);

const bytes = maybe(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "bytes, set by administrators; 0: the server's default",
  }),
);

const quotas = {
  max_running: quota,
  max_queued: quota,
  max_tasks: quota,
  max_schedules: quota,
  max_dataset_bytes: bytes,
  max_upload_bytes: bytes,
  max_log_bytes: bytes,
  max_text_bytes: bytes,
  max_export_bytes: bytes,
  max_environment_bytes: bytes,
};

export const listTeams = defineRoute({
  id: "listTeams",
  method: "GET",
  path: "/api/teams",
  tag: "Teams",
  summary: "List your teams; administrators of the server see all",
  access: { kind: "signed-in", why: "a token may be asked for its own teams" },
  response: Type.Array(Team),
});

export const createTeam = defineRoute({
  id: "createTeam",
  method: "POST",
  path: "/api/teams",
  tag: "Teams",
  summary: "Create a team",
  access: { kind: "admin", scope: "ADMIN:write", why: "a team takes a share of the machine" },
  body: Type.Object({
    name: Name,
    admin: maybe(
      Type.String({
        maxLength: fieldLimits.name,
        description: "user name of the team's first admin; default: the caller",
      }),
    ),
    ...quotas,
  }),
  response: Team,
  errors: ["not_found", "wrong_state"],
});

export const getTeam = defineRoute({
  id: "getTeam",
  method: "GET",
  path: "/api/teams/{team_name}",
  tag: "Teams",
  summary: "Read one team",
  access: teamAccess("read", "viewer"),
  params: TeamParams,
  response: Team,
  errors: ["not_found"],
});

export const getTeamUsage = defineRoute({
  id: "getTeamUsage",
  method: "GET",
  path: "/api/teams/{team_name}/usage",
  tag: "Teams",
  summary: "Read the disk and database usage of a team, with its quotas",
  access: teamAccess("read", "viewer"),
  params: TeamParams,
  response: TeamUsage,
  errors: ["not_found"],
});

export const updateTeam = defineRoute({
  id: "updateTeam",
  method: "PATCH",
  path: "/api/teams/{team_name}",
  tag: "Teams",
  summary:
    "Rename a team, or set its library release, time limit and retries; administrators of the server also set its quotas",
  access: { ...teamAccess("write", "admin"), people: true },
  params: TeamParams,
  body: Type.Object({
    name: maybe(Name),
    library_version: maybe(
      Type.String({
        pattern: "^(\\d{1,6}\\.\\d{1,6}\\.\\d{1,6})?$",
        description: `datachain release such as 0.62.0, ${oldestLibrary} or newer; empty: the server's default`,
      }),
    ),
    ...teamRetryInput,
    ...quotas,
  }),
  response: Team,
  errors: ["not_found", "wrong_state"],
});
