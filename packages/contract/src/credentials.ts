/** Credentials: named sets of variables for jobs. The API never returns secret values. */
import type { Static } from "typebox";
import { processLimits } from "./limits.ts";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, nullable, oneOf, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

const credentialOwners = ["team", "user"] as const;

export const credentialLimits = {
  /** Maximum number of sets of one team or one user. */
  sets: 100,
  /** Maximum number of variables in one set. */
  variables: 100,
  /** Maximum size of all variables in one set, in bytes. */
  bytes: 262_144,
  /** Maximum size of the variables in one set that are not secret, in bytes. */
  plainBytes: 4096,
} as const;

const Name = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
  description: "letters, digits, `.`, `_` and `-`, beginning with a letter or digit, at most 64 characters",
});

export const Credentials = Type.Object(
  {
    name: Type.String(),
    owner: oneOf(credentialOwners, {
      description: "`team`: all jobs of the team may use the credentials; `user`: only your own jobs may",
    }),
    variables: Type.Array(Type.String(), { description: "names of the variables; secret values are never shown" }),
    plain: Type.Record(Type.String(), Type.String(), {
      description: "variables that are not secret, with their values",
    }),
    default: Type.Boolean({ description: "whether jobs of the team that name no credentials use these" }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Credentials" },
);
export type Credentials = Static<typeof Credentials>;

export const listCredentials = defineRoute({
  id: "listCredentials",
  method: "GET",
  path: "/api/datachain/credentials/",
  tag: "Credentials",
  summary: "List the credentials that your jobs in a team can use: the team's and your own, without secret values",
  access: access("JOB", "read", "editor"),
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: Type.Array(Credentials),
});

const CredentialsInput = Type.Object(
  {
    team_name: maybe(TeamName),
    name: Name,
    values: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: processLimits.variable, writeOnly: true }), {
        writeOnly: true,
        description: `variables by name: at most ${credentialLimits.variables} variables and ${credentialLimits.bytes} bytes in total, and at most ${processLimits.variable} bytes for the name and value of one variable`,
      }),
    ),
    dotenv: maybe(
      Type.String({
        maxLength: credentialLimits.bytes,
        writeOnly: true,
        description: "NAME=VALUE lines in dotenv format; `values` take precedence",
      }),
    ),
    plain: maybe(
      Type.Array(Type.String({ maxLength: 255 }), {
        maxItems: credentialLimits.variables,
        description: `names of the variables that are not secret: their values are shown in lists and not masked in logs; their names and values may have at most ${credentialLimits.plainBytes} bytes in total`,
      }),
    ),
  },
  { $id: "CredentialsInput" },
);
export type CredentialsInput = Static<typeof CredentialsInput>;

export const setTeamCredentials = defineRoute({
  id: "setTeamCredentials",
  method: "POST",
  path: "/api/datachain/credentials/team",
  tag: "Credentials",
  summary: "Create credentials of the team, or replace all their values",
  access: { ...access("ADMIN", "write", "admin"), people: true },
  body: CredentialsInput,
  bodyLimit: "large",
  response: Credentials,
  errors: ["wrong_state"],
});

export const setOwnCredentials = defineRoute({
  id: "setOwnCredentials",
  method: "POST",
  path: "/api/datachain/credentials/own",
  tag: "Credentials",
  summary: "Create credentials of your own, or replace all their values; your jobs in all your teams can use them",
  access: { ...access("JOB", "write", "editor"), people: true },
  body: CredentialsInput,
  bodyLimit: "large",
  response: Credentials,
  errors: ["wrong_state"],
});

const Named = Type.Object({ team_name: maybe(TeamName), name: Name });

export const deleteTeamCredentials = defineRoute({
  id: "deleteTeamCredentials",
  method: "DELETE",
  path: "/api/datachain/credentials/team",
  tag: "Credentials",
  summary: "Delete credentials of the team; jobs that use them and have not started will fail",
  access: { ...access("ADMIN", "write", "admin"), people: true },
  body: Named,
  response: ActionFeedback,
  errors: ["not_found"],
});

export const deleteOwnCredentials = defineRoute({
  id: "deleteOwnCredentials",
  method: "DELETE",
  path: "/api/datachain/credentials/own",
  tag: "Credentials",
  summary: "Delete credentials of your own; jobs that use them and have not started will fail",
  access: { ...access("JOB", "write", "editor"), people: true },
  body: Named,
  response: ActionFeedback,
  errors: ["not_found"],
});

export const setDefaultCredentials = defineRoute({
  id: "setDefaultCredentials",
  method: "POST",
  path: "/api/datachain/credentials/default",
  tag: "Credentials",
  summary: "Set the team's default credentials for jobs that name none",
  access: { ...access("ADMIN", "write", "admin"), people: true },
  body: Type.Object({
    team_name: maybe(TeamName),
    name: nullable({ ...Name, description: "null removes the default" }),
  }),
  response: ActionFeedback,
  errors: ["not_found"],
});
