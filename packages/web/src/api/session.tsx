/** The signed-in user, and what they may do. */
import { type Role, roleIncludes, routes, type WhoAmI } from "@millrace/contract";
import { createContext, type ReactNode, useContext } from "react";
import { LoadError } from "../look/states.tsx";
import { serverPath } from "./base.ts";
import { useApi } from "./calls.ts";
import { isSignedOut } from "./client.ts";
import { TeamContext } from "./team.tsx";

const SessionContext = createContext<WhoAmI | undefined>(undefined);

/** Shows its children to a signed-in user. Sends everybody else to the sign-in page, and back afterwards. */
export function Session({ children }: { children: ReactNode }) {
  const { data, error } = useApi(routes.whoAmI, {}, { staleTime: 60_000 });
  if (isSignedOut(error)) {
    const { pathname, search, hash } = window.location;
    const next = pathname.slice(serverPath("").length) + search + hash;
    window.location.assign(serverPath(`/auth/sign-in?next=${encodeURIComponent(next)}`));
    return null;
  }
  if (!data) return error ? <LoadError error={error} /> : null;
  return <SessionContext.Provider value={data}>{children}</SessionContext.Provider>;
}

export function useSession(): WhoAmI {
  const session = useContext(SessionContext);
  if (!session) throw new Error("nobody is signed in");
  return session;
}

/** The user's role in the team of the page; undefined for an administrator who looks at a team from outside. */
export function useRole(): Role | undefined {
  const team = useContext(TeamContext);
  return useSession().teams.find(({ name }) => name === team)?.role;
}

/** Says why the user may not do what needs this role; undefined if they may. */
export function useRefusal(needed: Role): string | undefined {
  const role = useRole();
  if (role !== undefined && roleIncludes(role, needed)) return undefined;
  const have =
    role === undefined ? "You are not a member of this team" : `You are ${article(role)} ${role} of this team`;
  return `${have}; only ${needed === "editor" ? "editors and admins" : "admins"} can do this. Ask an admin of the team.`;
}

const article = (word: string) => (/^[aeiou]/.test(word) ? "an" : "a");
