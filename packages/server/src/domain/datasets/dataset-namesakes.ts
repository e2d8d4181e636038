/** A short name means one's own namespace: where a dataset is not found there, colleagues may have one of that name. */
import { ApiError } from "@millrace/contract";
import { datasetNotFound } from "../../datachain/messages.ts";
import type { Db } from "../../store/drivers/store.ts";
import { type FullName, placesOfName } from "../../store/queries/datasets/datasets.ts";
import type { Team } from "../access/principals.ts";
import { fullName } from "./dataset-names.ts";

/** As many as are named. */
const most = 5;

/** A sentence that names datasets of this name elsewhere in the team; empty where there are none. */
async function namesakes(db: Db, teamId: number, name: string): Promise<string> {
  const found = await placesOfName(db, teamId, name, most + 1);
  if (found.length === 0) return "";
  const names = found.slice(0, most).map(fullName);
  const more = found.length > most ? " and more" : "";
  return `Elsewhere in the team there is ${names.join(", ")}${more}: a short name means one's own namespace, so use the full name.`;
}

/** The error for a dataset that does not exist, with datasets of that name elsewhere in the team. */
export async function noSuchDataset(db: Db, team: Pick<Team, "id" | "name">, reference: FullName): Promise<ApiError> {
  const found = await namesakes(db, team.id, reference.name);
  const what = `There is no dataset ${fullName(reference)} in the team ${team.name}.`;
  return new ApiError("not_found", found ? `${what} ${found}` : what, { hint: "list_datasets" });
}

/** The reason of a failure, with the dataset that was probably meant. */
export async function withNamesakes(db: Db, teamId: number, reason: string): Promise<string> {
  const name = datasetNotFound.exec(reason)?.[1];
  const hint = name === undefined ? "" : await namesakes(db, teamId, name);
  return hint === "" ? reason : `${reason}\n${hint}`;
}
