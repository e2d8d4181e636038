/** The audit log: who changed what, when and from where. */
import type { Static } from "typebox";
import { fieldLimits } from "./limits.ts";
import { defineRoute } from "./routes.ts";
import { nullable, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

export const AuditEntry = Type.Object(
  {
    id: Type.Integer(),
    at: Timestamp,
    username: Type.String({ description: "user name at that time; empty for an operator on the server's machine" }),
    via: Type.String({
      description: "how the user was signed in: a token by name, a browser session, a password, the command line",
    }),
    address: Type.String(),
    action: Type.String({ description: "noun and verb, such as user.create" }),
    team_name: nullable(Type.String()),
    target: Type.String(),
    detail: Type.String(),
  },
  { $id: "AuditEntry" },
);
export type AuditEntry = Static<typeof AuditEntry>;

export const listAudit = defineRoute({
  id: "listAudit",
  method: "GET",
  path: "/api/audit",
  tag: "Audit",
  summary:
    "List changes, newest first: administrators of the server see all changes, admins of a team see the changes in their team",
  access: { kind: "signed-in", scope: "ADMIN:read", why: "an admin sees what happened in the team" },
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    username: Type.Optional(Type.String({ maxLength: fieldLimits.name })),
    action: Type.Optional(
      Type.String({
        pattern: "^[a-z.-]+$",
        description: "an action such as user.create, or a noun such as user, for all its actions",
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
    cursor: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_147_483_647,
        description: "id of the last entry of the previous page; returns entries older than that one",
      }),
    ),
  }),
  response: Type.Array(AuditEntry),
  errors: ["not_found"],
});
