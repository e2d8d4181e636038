/** The profile of the signed-in user. */
import { WhoAmI } from "./auth.ts";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, maybe } from "./schema.ts";
import { Type } from "./type.ts";
import { Password, personFields } from "./users.ts";

export const updateProfile = defineRoute({
  id: "updateProfile",
  method: "PATCH",
  path: "/api/whoami",
  tag: "Sign-in",
  summary: "Change your own names and e-mail address",
  access: { kind: "signed-in", scope: "ADMIN:write", people: true, why: "everybody may change their own profile" },
  body: Type.Object(personFields),
  response: WhoAmI,
});

export const changePassword = defineRoute({
  id: "changePassword",
  method: "POST",
  path: "/api/whoami/password",
  tag: "Sign-in",
  summary: "Change your own password, or set the first one; ends your browser sessions",
  access: { kind: "signed-in", scope: "ADMIN:write", people: true, why: "the current password is required" },
  body: Type.Object({ current_password: maybe(Password), password: Password }),
  response: ActionFeedback,
});
