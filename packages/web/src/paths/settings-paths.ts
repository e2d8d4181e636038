/** Paths of the settings of a team. */
import { teamPath } from "../api/team.tsx";

export const settingsPath = (team: string, tab: string) => teamPath(team, `/settings/${tab}`);
