/** Tokens: programs use them instead of a password. */
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
  team_names: nullable(Type.Array(Type.String(), { description: "null: all teams of the user, including later ones" })),
  created_at: Timestamp,
  expires_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  current: Type.Boolean({ description: "whether this request was made with it" }),
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
  summary: "List your valid tokens, newest first; administrators of the server see anybody's",
  access: { kind: "signed-in", people: true, why: "everybody may see their own tokens; values are never shown" },
  query: Type.Object({
    username: Type.Optional(
      Type.String({ maxLength: fieldLimits.name, description: "user whose tokens to list; default: the caller" }),
    ),
    all_users: Type.Optional(Type.Boolean({ default: false, description: "tokens of all users, for administrators" })),
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
  summary: "Create a token of your own, with no more rights than the one you use",
  access: { kind: "signed-in", people: true, why: "the new token gets at most the rights of the caller's" },
  body: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 255 }),
    scopes: maybe(
      Type.Array(Type.String({ maxLength: fieldLimits.name }), {
        maxItems: 50,
        description: "default: those of the caller",
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
  summary: "Revoke a token of yours; administrators of the server revoke anybody's",
  access: { kind: "signed-in", people: true, why: "one's own tokens; any but the one in use need the scope ADMIN" },
  params: Type.Object({ token_id: Type.String({ pattern: "^\\d{1,9}$" }) }),
  response: ActionFeedback,
  errors: ["forbidden", "not_found"],
});
