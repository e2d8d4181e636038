/** Teams: groups of users who share jobs, datasets and quotas. */
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
    role: nullable(oneOf(roles, { description: "role of the caller; null if the caller is not a member" })),
    members: Type.Integer(),
    max_running: nullable(
      Type.Integer({ description: "maximum number of running jobs; null means the server's default" }),
    ),
    max_queued: nullable(
      Type.Integer({ description: "maximum number of waiting jobs; null means the server's default" }),
    ),
    max_tasks: nullable(
      Type.Integer({ description: "maximum number of waiting tasks; null means the server's default" }),
    ),
    max_schedules: nullable(
      Type.Integer({ description: "maximum number of schedules; null means the server's default" }),
    ),
    max_dataset_bytes: nullable(
      Type.Integer({ description: "maximum size of the team's warehouse in bytes; null means the server's default" }),
    ),
    max_upload_bytes: nullable(
      Type.Integer({ description: "maximum size of the team's uploads in bytes; null means the server's default" }),
    ),
    max_log_bytes: nullable(
      Type.Integer({
        description: "maximum size of the logs of the team's ended jobs in bytes; null means the server's default",
      }),
    ),
    max_text_bytes: nullable(
      Type.Integer({
        description:
          "maximum size of the long texts of the team's jobs in the database in bytes; null means the server's default",
      }),
    ),
    max_export_bytes: nullable(
      Type.Integer({
        description: "maximum size of the team's export files in bytes; null means the server's default",
      }),
    ),
    max_environment_bytes: nullable(
      Type.Integer({ description: "maximum size of the team's virtualenvs in bytes; null means the server's default" }),
    ),
    library_version: nullable(
      Type.String({ description: "datachain version for jobs that pin none; null means the server's default" }),
    ),
    job_timeout: nullable(
      Type.Integer({ description: `default for the team's jobs: ${timeoutText}; null means no limit` }),
    ),
    job_retries: nullable(
      Type.Integer({ description: `default for the team's jobs: ${retriesText}; null means none` }),
    ),
    job_retry_delay: nullable(Type.Integer({ description: `default for the team's jobs: ${retryDelayText}` })),
    created_at: Timestamp,
  },
  { $id: "Team" },
);
export type Team = Static<typeof Team>;

const used = (what: string) =>
  Type.Object({
    bytes: Type.Integer({ description: what }),
    quota: nullable(Type.Integer({ description: "quota in bytes; null means no limit" })),
  });

export const TeamUsage = Type.Object(
  {
    datasets: used("bytes of the team's warehouse on disk, without its daily copies"),
    uploads: used("bytes of uploaded files on disk"),
    logs: used("bytes of logs of ended jobs on disk"),
    texts: used("bytes of long texts of jobs in the database; a text that several jobs share counts once"),
    exports: used("bytes of export files on disk"),
    environments: used("bytes of virtualenvs on disk"),
  },
  { $id: "TeamUsage", description: "Usage of a team, updated every few seconds." },
);
export type TeamUsage = Static<typeof TeamUsage>;

/** Path parameters of routes whose path contains a team. */
export const TeamParams = Type.Object({ team_name: TeamName });

/** Returns the access of a team route that administrators of the server may also call. */
export const teamAccess = (level: "read" | "write", role: "viewer" | "admin") =>
  ({ ...access("ADMIN", level, role), administrators: true }) as const;

const quota = maybe(
  Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: "only administrators of the server set this; 0 means the server's default",
  }),
);

const bytes = maybe(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "bytes; only administrators of the server set this; 0 means the server's default",
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
  summary: "List your teams; administrators of the server see all teams",
  access: { kind: "signed-in", why: "every token may list its own teams" },
  response: Type.Array(Team),
});

export const createTeam = defineRoute({
  id: "createTeam",
  method: "POST",
  path: "/api/teams",
  tag: "Teams",
  summary: "Create a team",
  access: { kind: "admin", scope: "ADMIN:write", why: "a team uses resources of the server" },
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
    "Rename a team, or set its library version, time limit and retries; administrators of the server also set its quotas",
  access: { ...teamAccess("write", "admin"), people: true },
  params: TeamParams,
  body: Type.Object({
    name: maybe(Name),
    library_version: maybe(
      Type.String({
        pattern: "^(\\d{1,6}\\.\\d{1,6}\\.\\d{1,6})?$",
        description: `a datachain version such as 0.62.0 (${oldestLibrary} or newer), or empty for the server's default`,
      }),
    ),
    ...teamRetryInput,
    ...quotas,
  }),
  response: Team,
  errors: ["not_found", "wrong_state"],
});
