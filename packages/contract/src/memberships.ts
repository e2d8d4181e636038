/** Memberships: which users are in a team, and in which role. */
import type { Static } from "typebox";
import { roles } from "./access.ts";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, Name, oneOf } from "./schema.ts";
import { SuccessorQuery } from "./succession.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";

/** Maximum number of members of one team. */
export const mostMembers = 5000;

export const Member = Type.Object(
  {
    username: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    role: oneOf(roles),
    disabled: Type.Boolean(),
    service_account: Type.Boolean({
      description: "whether this member is the team's service account, which nobody can sign in as",
    }),
  },
  { $id: "Member" },
);
export type Member = Static<typeof Member>;

const write = { ...teamAccess("write", "admin"), people: true } as const;
const MemberParams = Type.Object({ ...TeamParams.properties, username: Name });

export const listMembers = defineRoute({
  id: "listMembers",
  method: "GET",
  path: "/api/teams/{team_name}/members",
  tag: "Teams",
  summary: "List the members of a team",
  access: teamAccess("read", "viewer"),
  params: TeamParams,
  response: Type.Array(Member),
  errors: ["not_found"],
});

export const addMember = defineRoute({
  id: "addMember",
  method: "POST",
  path: "/api/teams/{team_name}/members",
  tag: "Teams",
  summary: "Add a user to a team",
  description: `A team can have ${mostMembers} members. More are refused with 409.`,
  access: write,
  params: TeamParams,
  body: Type.Object({ username: Name, role: oneOf(roles) }),
  response: Member,
  errors: ["not_found", "wrong_state"],
});

export const updateMember = defineRoute({
  id: "updateMember",
  method: "PATCH",
  path: "/api/teams/{team_name}/members/{username}",
  tag: "Teams",
  summary: "Change the role of a member, effective from the next request",
  access: write,
  params: MemberParams,
  body: Type.Object({ role: oneOf(roles) }),
  response: Member,
  errors: ["not_found", "wrong_state"],
});

export const removeMember = defineRoute({
  id: "removeMember",
  method: "DELETE",
  path: "/api/teams/{team_name}/members/{username}",
  tag: "Teams",
  summary:
    "Remove a member, and optionally hand over their schedules, tasks and pipelines; the last admin of a team cannot be removed",
  access: write,
  params: MemberParams,
  query: SuccessorQuery,
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
