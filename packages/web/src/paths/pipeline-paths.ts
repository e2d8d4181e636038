/** Paths of the pages of pipelines. */
import { teamPath } from "../api/team.tsx";

export const pipelinesPath = (team: string) => teamPath(team, "/pipelines");
export const pipelinePath = (team: string, id: string) => `${pipelinesPath(team)}/${id}`;

/** The form for a new pipeline, with these datasets chosen. Names of datasets contain no spaces. */
export const newPipelinePath = (team: string, datasets: readonly string[] = []) =>
  `${pipelinesPath(team)}/new${datasets.length > 0 ? `?dataset=${encodeURIComponent(datasets.join(" "))}` : ""}`;
