/**
 * Restores a copy of a team's warehouse. None of the team's jobs starts during the restore. Afterwards, dataset
 * versions that the copy lacks are marked as removed in the registry (the dataset tables in the store).
 */
import { ApiError, type DatasetCopy } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { liveUuids, markRemoved, markRestored } from "../../store/queries/datasets/dataset-versions.ts";
import { isTeamBusy, pausedTeams, touchWarehouse, updateWarehouse } from "../../store/queries/datasets/warehouses.ts";
import { audit } from "../access/audit.ts";
import type { TeamCall } from "../access/call.ts";
import type { Team } from "../access/principals.ts";
import { iso } from "../time/clock.ts";

/**
 * Milliseconds to wait after a team was paused. By then, jobs whose start was decided just before the pause are
 * recorded in the store.
 */
export const settling = 2000;

/**
 * Returns the copy from the time `wanted`. If `wanted` is not given, returns the newest daily copy. `copies` also has
 * warehouses that an earlier restore replaced; such a warehouse is returned only if `wanted` is its time.
 */
export function chooseCopy(team: Team, copies: readonly DatasetCopy[], wanted: string | null | undefined): DatasetCopy {
  const found = wanted
    ? copies.find(({ created_at }) => Date.parse(created_at) === Date.parse(wanted))
    : copies.find(({ kind }) => kind === "daily");
  if (found) return found;
  const warehouse = `The warehouse of the team ${team.name}`;
  if (!wanted || copies.length === 0)
    throw new ApiError("wrong_state", `${warehouse} has no daily copy yet. The server creates one every day.`);
  const others = copies.map(({ created_at }) => created_at).join(", ");
  throw new ApiError("not_found", `${warehouse} has no copy from ${wanted}. It has copies from: ${others}.`);
}

/**
 * Pauses a team: none of its jobs starts from now on. Throws if the team is already paused, or if one of its jobs runs.
 */
export function pauseTeam(store: Store, team: Team, now: number): Promise<void> {
  return store.write(async (db) => {
    await touchWarehouse(db, team.id, iso(now));
    if ((await pausedTeams(db)).includes(team.id)) {
      throw new ApiError(
        "wrong_state",
        `The warehouse of the team ${team.name} cannot be restored now: it is under maintenance (garbage collection or another restore). Try again in a minute.`,
      );
    }
    await requireIdle(db, team);
    await updateWarehouse(db, team.id, { paused_at: iso(now) });
  });
}

/** Throws if a job of the team runs. */
export async function requireIdle(db: Db, team: Team): Promise<void> {
  if (!(await isTeamBusy(db, team.id))) return;
  throw new ApiError(
    "wrong_state",
    `The warehouse cannot be restored now: jobs of the team ${team.name} are running. Wait until they have ended, or cancel them, and try again.`,
  );
}

/** Ends the pause of a team. */
export const resumeTeam = (store: Store, team: Team) =>
  store.write((db) => updateWarehouse(db, team.id, { paused_at: null }));

/**
 * Updates the registry (the dataset tables in the store) after a restore. Versions that the copy has are marked as
 * live. Versions that should have rows in the warehouse, but are not in the copy, are marked as removed. Returns the
 * number of removed versions.
 */
export function recordRestored(
  store: Store,
  { actor, team }: TeamCall,
  restored: { readonly moment: string; readonly uuids: readonly string[] },
  now: number,
): Promise<number> {
  return store.write(async (db) => {
    const gone = await missing(db, team, restored.uuids);
    await markRemoved(db, team.id, gone, iso(now));
    await markRestored(db, team.id, restored.uuids);
    await audit(db, actor, { action: "datasets.restore", team, target: team.name, detail: restored.moment }, now);
    return gone.length;
  });
}

/** Returns the uuids of the team's versions that should have rows in the warehouse, but are not among `uuids`. */
async function missing(db: Db, team: Team, uuids: readonly string[]): Promise<string[]> {
  const present = new Set(uuids);
  return (await liveUuids(db, team.id)).filter((uuid) => !present.has(uuid));
}
