/** Paths of the pages of jobs. */
import { teamPath } from "../api/team.tsx";

export const jobsPath = (team: string) => teamPath(team, "/datasets/jobs");
export const jobPath = (team: string, id: string) => `${jobsPath(team)}/${id}`;
