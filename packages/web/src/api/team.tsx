/** The team whose pages are shown: it is part of every path. */
import { createContext, useContext } from "react";

export const TeamContext = createContext<string | undefined>(undefined);

/** Returns the team of the page. Throws outside of a team's pages. */
export function useTeam(): string {
  const team = useContext(TeamContext);
  if (team === undefined) throw new Error("this page belongs to no team");
  return team;
}

export const teamPath = (team: string, rest = "") => `/team/${encodeURIComponent(team)}${rest}`;
