/** Names of datasets, and paths of their pages. */
import type { ListedDataset } from "@millrace/contract";
import { teamPath } from "../api/team.tsx";

type Placed = Pick<ListedDataset, "name" | "project">;

/** Namespace and project of a dataset: `prod.zoo`. */
export const placeOf = ({ project }: Placed) => `${project.namespace.name}.${project.name}`;

/** The full name of a dataset: `prod.zoo.cats`. */
export const fullNameOf = (dataset: Placed) => `${placeOf(dataset)}.${dataset.name}`;

export const datasetsPath = (team: string) => teamPath(team, "/datasets");

/** The page of a dataset; with parameters such as `version` and `tab`. */
export function datasetPath(team: string, fullName: string, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `${datasetsPath(team)}/${encodeURIComponent(fullName)}${query && `?${query}`}`;
}
