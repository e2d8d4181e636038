/** Paths of the pages of schedules, tasks and backfills. */
import { teamPath } from "../api/team.tsx";

export const schedulesPath = (team: string, tab = "") =>
  teamPath(team, tab === "" ? "/schedules" : `/schedules?tab=${tab}`);
export const schedulePath = (team: string, id: number | string, tab = "") =>
  teamPath(team, `/schedules/${id}${tab === "" ? "" : `?tab=${tab}`}`);
export const newSchedulePath = (team: string, pipeline = "") =>
  teamPath(team, `/schedules/new${pipeline === "" ? "" : `?pipeline=${encodeURIComponent(pipeline)}`}`);
export const taskPath = (team: string, id: string) => teamPath(team, `/schedules/tasks/${id}`);
export const backfillPath = (team: string, id: number) => teamPath(team, `/schedules/backfills/${id}`);
export const newBackfillPath = (team: string, pipeline = "") =>
  teamPath(team, `/schedules/backfills/new${pipeline === "" ? "" : `?pipeline=${encodeURIComponent(pipeline)}`}`);
