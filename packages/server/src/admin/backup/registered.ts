/** Reads from the rows of a backup which dataset versions each team has in its warehouse. */
import { join } from "node:path";
import type { Row } from "../../store/opening/snapshot.ts";
import type { Registered } from "../../warehouses/backup-warehouses.ts";
import { readLines } from "./archive-files.ts";
import { names } from "./format.ts";

export interface TeamRegistry {
  readonly teamId: number;
  readonly team: string;
  /** Versions that are not deleted and have rows in the warehouse, each with the name of its dataset. */
  readonly versions: readonly (Registered & { readonly name: string })[];
  /** Jobs that were running when the backup was taken. */
  readonly running: readonly { readonly jobId: string; readonly startedAt: string }[];
}

/**
 * Returns all teams that have or had a warehouse. In a backup, a table comes after the tables it refers to, so one pass
 * over the rows is enough.
 */
export async function readRegistered(folder: string): Promise<TeamRegistry[]> {
  const teams = new Map<number, string>();
  const datasets = new Map<number, string>();
  const versions = new Map<number, TeamRegistry["versions"][number][]>();
  const running = new Map<number, TeamRegistry["running"][number][]>();
  const listOf = (teamId: number) => listIn(versions, teamId);
  for await (const line of readLines(join(folder, names.rows))) {
    const [table, row] = line as [string, Row];
    if (table === "teams") teams.set(Number(row["id"]), String(row["name"]));
    if (table === "datasets") datasets.set(Number(row["id"]), String(row["name"]));
    if (table === "attempts")
      listIn(running, Number(row["team_id"])).push({
        jobId: String(row["job_id"]),
        startedAt: String(row["created_at"]),
      });
    if (table === "team_stores") listOf(Number(row["team_id"]));
    if (table === "dataset_versions" && row["rows_table"] !== null && row["removed_at"] === null)
      listOf(Number(row["team_id"])).push({
        uuid: String(row["uuid"]),
        table: String(row["rows_table"]),
        name: datasets.get(Number(row["dataset_id"])) ?? "",
      });
  }
  return [...versions].map(([teamId, list]) => ({
    teamId,
    team: teams.get(teamId) ?? String(teamId),
    versions: list,
    running: running.get(teamId) ?? [],
  }));
}

function listIn<T>(lists: Map<number, T[]>, key: number): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
