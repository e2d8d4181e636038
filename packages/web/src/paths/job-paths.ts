/** Paths of the pages of jobs. */
import { teamPath } from "../api/team.tsx";

export const jobsPath = (team: string) => teamPath(team, "/datasets/jobs");
export const jobPath = (team: string, id: string) => `${jobsPath(team)}/${id}`;

/** The pages that a job leads to. Their rooms stand above this one, so their own functions cannot be used here. */
export const pipelineOfJob = (team: string, id: string) => teamPath(team, `/pipelines/${id}`);
export const datasetOfJob = (team: string, name: string, version: string | undefined) =>
  teamPath(
    team,
    `/datasets/${encodeURIComponent(name)}${version === undefined ? "" : `?version=${encodeURIComponent(version)}`}`,
  );
