/** Tokens: programs use them to authenticate instead of a password. */
import type { Static } from "typebox";
import { fieldLimits } from "./limits.ts";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, Days, maybe, nextCursor, nullable, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

const fields = {
  id: Type.Integer(),
  name: Type.String(),
  username: Type.String(),
  scopes: Type.Array(Type.String()),
  team_names: nullable(
    Type.Array(Type.String(), { description: "null means all teams of the user, including teams they join later" }),
  ),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  current: Type.Boolean({ description: "whether this request used the token" }),
};

export const Token = Type.Object(fields, { $id: "Token" });
export type Token = Static<typeof Token>;

export const NewToken = Type.Object(
  { ...fields, access_token: Type.String({ description: "the token itself; shown only now" }) },
  { $id: "NewToken" },
);
export type NewToken = Static<typeof NewToken>;

export const listTokens = defineRoute({
  id: "listTokens",
  method: "GET",
  path: "/api/tokens",
  tag: "Tokens",
  summary: "List your valid tokens, newest first; administrators of the server can list the tokens of any user",
  access: { kind: "signed-in", people: true, why: "everybody may see their own tokens; values are never shown" },
  query: Type.Object({
    username: Type.Optional(
      Type.String({ maxLength: fieldLimits.name, description: "user whose tokens to list; default: the caller" }),
    ),
    all_users: Type.Optional(
      Type.Boolean({ default: false, description: "true lists the tokens of all users; only for administrators" }),
    ),
    cursor: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: "from x-next-cursor" })),
  }),
  response: Type.Array(Token),
  responseHeaders: nextCursor,
  errors: ["forbidden", "not_found"],
});

export const createToken = defineRoute({
  id: "createToken",
  method: "POST",
  path: "/api/tokens",
  tag: "Tokens",
  summary: "Create a token for yourself; it cannot have more rights than the token of this request",
  access: { kind: "signed-in", people: true, why: "the new token gets at most the rights of the caller's token" },
  body: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: maybe(
      Type.Array(Type.String({ maxLength: fieldLimits.name }), {
        maxItems: 50,
        description: "default: the scopes of the caller's token",
      }),
    ),
    team_names: maybe(
      Type.Array(Type.String({ maxLength: fieldLimits.name }), {
        maxItems: 50,
        description: "default: all teams of the caller's token",
      }),
    ),
    expires_in_days: maybe(Days),
  }),
  response: NewToken,
  errors: ["forbidden"],
});

export const revokeToken = defineRoute({
  id: "revokeToken",
  method: "DELETE",
  path: "/api/tokens/{token_id}",
  tag: "Tokens",
  summary: "Revoke one of your tokens; administrators of the server can revoke any token",
  access: {
    kind: "signed-in",
    people: true,
    why: "everybody may revoke their own tokens; revoking a token other than the one in use needs the scope ADMIN",
  },
  params: Type.Object({ token_id: Type.String({ pattern: "^\\d{1,9}$" }) }),
  response: ActionFeedback,
  errors: ["forbidden", "not_found"],
});
