/** Routes for signing in: device login, logout, and the identity of the caller. */
import type { Static } from "typebox";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, Days, maybe, nullable, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";
import { TeamRole } from "./users.ts";

export const DeviceLogin = Type.Object(
  {
    device_code: Type.String(),
    user_code: Type.String(),
    verification_uri: Type.String(),
    token_uri: Type.String(),
    token_name: Type.String(),
    expires_in: Type.Integer({ description: "seconds until the codes expire" }),
  },
  { $id: "DeviceLogin" },
);
export type DeviceLogin = Static<typeof DeviceLogin>;

export const startDeviceLogin = defineRoute({
  id: "startDeviceLogin",
  method: "POST",
  path: "/api/device-login",
  tag: "Sign-in",
  summary: "Start a device login: a signed-in user confirms the code in a browser or with the command line",
  access: { kind: "public", why: "the caller has no token yet; rate-limited" },
  body: Type.Object({
    client_name: maybe(Type.String({ maxLength: 255 })),
    token_name: maybe(Type.String({ maxLength: 255 })),
    expires_in_days: maybe(Days),
    scopes: maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 50 })),
    team_names: maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 50 })),
  }),
  bodyLimit: 16 * 1024,
  rateLimit: "devices",
  response: DeviceLogin,
});

export const pollDeviceLogin = defineRoute({
  id: "pollDeviceLogin",
  method: "POST",
  path: "/api/device-login/token",
  tag: "Sign-in",
  summary: "Poll a device login; returns the token once, after approval",
  access: { kind: "public", why: "the device code is the secret; rate-limited" },
  body: Type.Object({ code: Type.String({ maxLength: 255 }) }),
  bodyLimit: 4 * 1024,
  rateLimit: "strangers",
  response: Type.Object({ access_token: Type.String() }),
  errors: ["authorization_pending", "authorization_expired", "authorization_denied"],
});

const Answer = Type.Object({ user_code: Type.String({ maxLength: 32 }) });

export const approveDeviceLogin = defineRoute({
  id: "approveDeviceLogin",
  method: "POST",
  path: "/api/device-login/approve",
  tag: "Sign-in",
  summary: "Approve a pending device login as the signed-in user",
  access: { kind: "signed-in", people: true, why: "the new token gets at most the rights of the caller's token" },
  body: Answer,
  response: ActionFeedback,
  errors: ["not_found", "forbidden"],
});

export const denyDeviceLogin = defineRoute({
  id: "denyDeviceLogin",
  method: "POST",
  path: "/api/device-login/deny",
  tag: "Sign-in",
  summary: "Deny a pending device login",
  access: { kind: "signed-in", people: true, why: "any signed-in user may deny a code" },
  body: Answer,
  response: ActionFeedback,
  errors: ["not_found", "forbidden"],
});

export const deviceLogout = defineRoute({
  id: "deviceLogout",
  method: "POST",
  path: "/api/device-logout",
  tag: "Sign-in",
  summary: "Revoke the token of this request, or end the session of this browser",
  access: { kind: "signed-in", people: true, why: "every token may revoke itself, and every session end itself" },
  response: ActionFeedback,
});

export const WhoAmI = Type.Object(
  {
    username: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    email: nullable(Type.String()),
    timezone: nullable(Type.String({ description: "time zone in which times are shown" })),
    has_password: Type.Boolean(),
    is_admin: Type.Boolean({
      description: "whether the user administers the server; false for a token that is limited to teams",
    }),
    teams: Type.Array(TeamRole),
    scopes: Type.Array(Type.String()),
    token_name: Type.String(),
    expires_at: nullable(Timestamp),
  },
  { $id: "WhoAmI" },
);
export type WhoAmI = Static<typeof WhoAmI>;

export const whoAmI = defineRoute({
  id: "whoAmI",
  method: "GET",
  path: "/api/whoami",
  tag: "Sign-in",
  summary: "Read the user, teams and scopes of this token",
  access: { kind: "signed-in", why: "every token may read its own rights" },
  response: WhoAmI,
});
