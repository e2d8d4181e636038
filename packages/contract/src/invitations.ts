/** Invitations: links with which a person can join a team. Each link works once. */
import type { Static } from "typebox";
import { roles } from "./access.ts";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, Days, Email, maybe, Name, oneOf, secretText, Timestamp } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";
import { Password, personFields } from "./users.ts";

/** Maximum number of invitations of one team that can still be used. */
export const mostInvitations = 1000;

const fields = {
  id: Type.Integer(),
  role: oneOf(roles),
  email: Type.String({ description: "address of the invited person, as a note; anybody who has the link can use it" }),
  created_by: Type.String({ description: "user name" }),
  created_at: Timestamp,
  expires_at: Timestamp,
};

export const Invitation = Type.Object(fields, { $id: "Invitation" });
export type Invitation = Static<typeof Invitation>;

export const NewInvitation = Type.Object(
  { ...fields, url: Type.String({ description: "the link, which works once; shown only now" }) },
  { $id: "NewInvitation" },
);
export type NewInvitation = Static<typeof NewInvitation>;

/** What a person who opens an invitation link sees. */
export const InvitationOffer = Type.Object(
  { team_name: Type.String(), role: oneOf(roles), invited_by: Type.String(), expires_at: Timestamp },
  { $id: "InvitationOffer" },
);
export type InvitationOffer = Static<typeof InvitationOffer>;

const write = { ...teamAccess("write", "admin"), people: true } as const;
const Code = secretText(255, "the code of the link");
const stranger = { kind: "public", why: "the code of the link authorizes the request; rate-limited" } as const;

export const listInvitations = defineRoute({
  id: "listInvitations",
  method: "GET",
  path: "/api/teams/{team_name}/invitations",
  tag: "Invitations",
  summary: "List the invitations of a team that can still be used",
  description: `The newest come first. A team has at most ${mostInvitations}.`,
  access: teamAccess("read", "admin"),
  params: TeamParams,
  response: Type.Array(Invitation),
  errors: ["not_found"],
});

export const createInvitation = defineRoute({
  id: "createInvitation",
  method: "POST",
  path: "/api/teams/{team_name}/invitations",
  tag: "Invitations",
  summary: "Invite somebody into a team",
  description: `A team can have ${mostInvitations} invitations that can still be used. More are refused with 409.`,
  access: write,
  params: TeamParams,
  body: Type.Object({ role: oneOf(roles), email: maybe(Email), expires_in_days: maybe(Days) }),
  response: NewInvitation,
  errors: ["not_found", "wrong_state"],
});

export const revokeInvitation = defineRoute({
  id: "revokeInvitation",
  method: "DELETE",
  path: "/api/teams/{team_name}/invitations/{invitation_id}",
  tag: "Invitations",
  summary: "Revoke an invitation that was not used yet",
  access: write,
  params: Type.Object({ ...TeamParams.properties, invitation_id: Type.String({ pattern: "^\\d{1,9}$" }) }),
  response: ActionFeedback,
  errors: ["not_found"],
});

export const readInvitation = defineRoute({
  id: "readInvitation",
  method: "POST",
  path: "/api/invitations/read",
  tag: "Invitations",
  summary: "Read what an invitation offers",
  access: stranger,
  body: Type.Object({ code: Code }),
  bodyLimit: 4 * 1024,
  rateLimit: "strangers",
  response: InvitationOffer,
  errors: ["not_found"],
});

export const joinTeam = defineRoute({
  id: "joinTeam",
  method: "POST",
  path: "/api/invitations/join",
  tag: "Invitations",
  summary: "Use an invitation as the signed-in user",
  access: {
    kind: "signed-in",
    scope: "ADMIN:write",
    people: true,
    why: "the code authorizes the request; the caller joins the team",
  },
  body: Type.Object({ code: Code }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});

export const signUp = defineRoute({
  id: "signUp",
  method: "POST",
  path: "/api/invitations/sign-up",
  tag: "Invitations",
  summary: "Create an account with an invitation",
  access: stranger,
  body: Type.Object({ code: Code, username: Name, ...personFields, password: Password }),
  bodyLimit: 32 * 1024,
  rateLimit: "strangers",
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
