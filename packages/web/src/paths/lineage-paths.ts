/** Paths of the pages of what a lineage shows. */
import type { LineageNode } from "@millrace/contract";
import { teamPath } from "../api/team.tsx";
import { datasetPath } from "./dataset-paths.ts";
import { jobPath } from "./job-paths.ts";

/** Where the page of a node is. */
export function nodePath(team: string, { id, kind, name, version }: LineageNode): string {
  if (kind === "job") return jobPath(team, id);
  if (kind === "storage") return teamPath(team, `/storage?uri=${encodeURIComponent(id)}`);
  return datasetPath(team, name, { tab: "lineage", ...(version ? { version } : {}) });
}
