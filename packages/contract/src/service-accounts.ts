/**
 * Service accounts: users of a team who are not people. A schedule that a service account owns continues when a person
 * leaves the team.
 */
import { fieldLimits } from "./limits.ts";
import { Member } from "./memberships.ts";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, Days, maybe, Name, oneOf } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { NewToken, Token } from "./tokens.ts";
import { Type } from "./type.ts";

const write = { ...teamAccess("write", "admin"), people: true } as const;

/** Roles that a service account can have. It cannot be an admin, because nobody signs in as a service account. */
export const serviceRoles = ["viewer", "editor"] as const;

export const createServiceAccount = defineRoute({
  id: "createServiceAccount",
  method: "POST",
  path: "/api/teams/{team_name}/service-account",
  tag: "Teams",
  summary: "Create the service account of a team. It has no password; admins of the team create its tokens",
  access: write,
  params: TeamParams,
  body: Type.Object({
    account_name: maybe({
      ...Name,
      description: "user name of the service account; default: TEAM-service",
    } as typeof Name),
    role: maybe(oneOf(serviceRoles, { description: "default: editor" })),
  }),
  response: Member,
  errors: ["not_found", "wrong_state"],
});

export const listServiceTokens = defineRoute({
  id: "listServiceTokens",
  method: "GET",
  path: "/api/teams/{team_name}/service-account/tokens",
  tag: "Teams",
  summary: "List the valid tokens of a team's service account, at most the newest 1000",
  access: { ...teamAccess("read", "admin"), people: true },
  params: TeamParams,
  response: Type.Array(Token),
  errors: ["not_found"],
});

export const createServiceToken = defineRoute({
  id: "createServiceToken",
  method: "POST",
  path: "/api/teams/{team_name}/service-account/tokens",
  tag: "Teams",
  summary: "Create a token of a team's service account, with at most the scopes of the caller's token, and never ADMIN",
  access: write,
  params: TeamParams,
  body: Type.Object({
    token_name: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: maybe(
      Type.Array(Type.String({ maxLength: fieldLimits.name }), {
        maxItems: 50,
        description: "default: the scopes of the caller's token, without ADMIN",
      }),
    ),
    expires_in_days: maybe(Days),
  }),
  response: NewToken,
  errors: ["not_found"],
});

export const revokeServiceToken = defineRoute({
  id: "revokeServiceToken",
  method: "DELETE",
  path: "/api/teams/{team_name}/service-account/tokens/{service_token_id}",
  tag: "Teams",
  summary: "Revoke a token of a team's service account",
  access: write,
  params: Type.Object({ ...TeamParams.properties, service_token_id: Type.String({ pattern: "^\\d{1,9}$" }) }),
  response: ActionFeedback,
  errors: ["not_found"],
});
