/** The signed-in user, and what they may do. */
import { type Role, roleIncludes, type WhoAmI } from "@millrace/contract";
import { createContext, useContext } from "react";
import { TeamContext } from "./team.tsx";

export const SessionContext = createContext<WhoAmI | undefined>(undefined);

export function useSession(): WhoAmI {
  const session = useContext(SessionContext);
  if (!session) throw new Error("nobody is signed in");
  return session;
}

/** The user's role in the team of the page; undefined for an administrator who looks at a team from outside. */
function useRole(): Role | undefined {
  const team = useContext(TeamContext);
  return useSession().teams.find(({ name }) => name === team)?.role;
}

/** Says why the user may not do what needs this role; undefined if they may. `what` names it where no button does. */
export function useRefusal(needed: Role, what = "do this"): string | undefined {
  const role = useRole();
  if (role !== undefined && roleIncludes(role, needed)) return undefined;
  const have =
    role === undefined ? "You are not a member of this team" : `You are ${article(role)} ${role} of this team`;
  return `${have}; only ${needed === "editor" ? "editors and admins" : "admins"} can ${what}. Ask an admin of the team.`;
}

/** Like `useRefusal("admin")`, for what administrators of the server may do in every team. */
export function useManageRefusal(what?: string): string | undefined {
  const refusal = useRefusal("admin", what);
  return useSession().is_admin ? undefined : refusal;
}

const article = (word: string) => (/^[aeiou]/.test(word) ? "an" : "a");
