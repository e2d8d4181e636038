/**
 * If a dataset is not found, suggests datasets of the same name in other namespaces of the team. A short name is looked
 * up only in the user's own namespace, but the user may mean a dataset of a colleague.
 */
import { ApiError } from "@millrace/contract";
import { datasetNotFound } from "../../datachain/messages.ts";
import type { Db } from "../../store/drivers/store.ts";
import { type FullName, placesOfName } from "../../store/queries/datasets/datasets.ts";
import type { Team } from "../access/principals.ts";
import { fullName } from "./dataset-names.ts";

/** Maximum number of datasets that one suggestion lists. */
const most = 5;

/** Returns a sentence that lists the team's datasets of this name; an empty text if there are none. */
async function namesakes(db: Db, teamId: number, name: string): Promise<string> {
  const found = await placesOfName(db, teamId, name, most + 1);
  if (found.length === 0) return "";
  const names = found.slice(0, most).map(fullName);
  const more = found.length > most ? " and more" : "";
  return `Elsewhere in the team there is ${names.join(", ")}${more}. A short name refers to your own namespace: use the full name.`;
}

/**
 * Returns the error for a dataset that does not exist. The error suggests datasets of the team that have the same name
 * in another namespace or project.
 */
export async function noSuchDataset(db: Db, team: Pick<Team, "id" | "name">, reference: FullName): Promise<ApiError> {
  const found = await namesakes(db, team.id, reference.name);
  const what = `There is no dataset ${fullName(reference)} in the team ${team.name}.`;
  return new ApiError("not_found", found ? `${what} ${found}` : what, { hint: "list_datasets" });
}

/**
 * If a job failed because it did not find a dataset, adds a suggestion to the reason. Otherwise returns the reason
 * unchanged.
 */
export async function withNamesakes(db: Db, teamId: number, reason: string): Promise<string> {
  const name = datasetNotFound.exec(reason)?.[1];
  const hint = name === undefined ? "" : await namesakes(db, teamId, name);
  return hint === "" ? reason : `${reason}\n${hint}`;
}
