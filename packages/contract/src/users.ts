/** Users: people who may sign in, including the administrators of the server. */
import type { Static } from "typebox";
import { type Access, roles } from "./access.ts";
import { fieldLimits } from "./limits.ts";
import { defineRoute } from "./routes.ts";
import { Email, maybe, Name, nullable, oneOf, secretText, Timestamp, Timezone } from "./schema.ts";
import { successor } from "./succession.ts";
import { Type } from "./type.ts";

/** Names that no user can have, because they are ambiguous or occur in paths of the server. */
export const reservedNames: readonly string[] =
  "all api auth docs everybody healthz local me new nobody none null readyz self settings system team teams undefined user users".split(
    " ",
  );

export const TeamRole = Type.Object({ name: Type.String(), role: oneOf(roles) });

export const User = Type.Object(
  {
    username: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    email: nullable(Type.String()),
    timezone: nullable(Type.String({ description: "time zone in which times are shown" })),
    is_admin: Type.Boolean({ description: "whether the user administers the server" }),
    has_password: Type.Boolean(),
    created_at: Timestamp,
    disabled_at: nullable(Timestamp),
    service_account: Type.Boolean({
      description: "whether this user is a team's service account, which nobody can sign in as",
    }),
    teams: Type.Array(TeamRole),
  },
  { $id: "User" },
);
export type User = Static<typeof User>;

/** Fields that users may change in their own profile. */
export const personFields = {
  first_name: maybe(Type.String({ maxLength: 100 })),
  last_name: maybe(Type.String({ maxLength: 100 })),
  email: maybe(Email),
  timezone: maybe({ ...Timezone, description: "IANA time zone in which times are shown; an empty text removes it" }),
};

export const shortestPassword = 10;
export const Password = secretText(1024, `a password of ${shortestPassword} to 1024 characters`);

const administrator = (level: "read" | "write", why: string): Access & { kind: "admin" } => ({
  kind: "admin",
  scope: `ADMIN:${level}`,
  why,
});

const UserParams = Type.Object({ username: Name });

export const listUsers = defineRoute({
  id: "listUsers",
  method: "GET",
  path: "/api/users",
  tag: "Users",
  summary: "List users by name",
  access: administrator("read", "accounts of other teams are confidential"),
  query: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
    cursor: Type.Optional(
      Type.String({ maxLength: fieldLimits.name, description: "name of the last user of the previous page" }),
    ),
  }),
  response: Type.Array(User),
});

export const createUser = defineRoute({
  id: "createUser",
  method: "POST",
  path: "/api/users",
  tag: "Users",
  summary: "Create a user; without a password, the user signs in with a link",
  access: administrator("write", "an account gives access to the server"),
  body: Type.Object({
    username: Name,
    ...personFields,
    is_admin: maybe(Type.Boolean()),
    password: maybe(Password),
  }),
  response: User,
  errors: ["wrong_state"],
});

export const getUser = defineRoute({
  id: "getUser",
  method: "GET",
  path: "/api/users/{username}",
  tag: "Users",
  summary: "Read one user",
  access: administrator("read", "accounts of other teams are confidential"),
  params: UserParams,
  response: User,
  errors: ["not_found"],
});

export const updateUser = defineRoute({
  id: "updateUser",
  method: "PATCH",
  path: "/api/users/{username}",
  tag: "Users",
  summary: "Change a user's names, password or administrator rights; disable or enable the user",
  access: administrator("write", "changes affect the rights of a user"),
  params: UserParams,
  body: Type.Object({
    ...personFields,
    is_admin: maybe(Type.Boolean({ description: "the last enabled administrator cannot be demoted" })),
    disabled: maybe(Type.Boolean({ description: "true disables the user's tokens, sessions and password at once" })),
    password: maybe(Password),
    ...successor,
  }),
  response: User,
  errors: ["not_found", "wrong_state"],
});
