/** Copies of a team's warehouse, put back: the team's jobs wait, and the registry says what is there after it. */
import { ApiError, type DatasetCopy } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { liveUuids, markRemoved, markRestored } from "../../store/queries/datasets/dataset-versions.ts";
import { isTeamBusy, pausedTeams, touchWarehouse, updateWarehouse } from "../../store/queries/datasets/warehouses.ts";
import { audit } from "../access/audit.ts";
import type { TeamCall } from "../access/call.ts";
import type { Team } from "../access/principals.ts";
import { iso } from "../time/clock.ts";

/** After so many milliseconds of a pause, a start that was decided before it has been written. */
export const settling = 2000;

/** The copy that is meant; without a wish the newest of the daily ones, never what a copy took the place of. */
export function chooseCopy(team: Team, copies: readonly DatasetCopy[], wanted: string | null | undefined): DatasetCopy {
  const found = wanted
    ? copies.find(({ created_at }) => Date.parse(created_at) === Date.parse(wanted))
    : copies.find(({ kind }) => kind === "daily");
  if (found) return found;
  const whose = `of the warehouse of the team ${team.name}`;
  if (!wanted || copies.length === 0)
    throw new ApiError("wrong_state", `There is no copy ${whose} yet: they are made every day.`);
  const others = copies.map(({ created_at }) => created_at).join(", ");
  throw new ApiError("not_found", `There is no such copy ${whose}. There are: ${others}.`);
}

/** From now on no job of the team begins; throws where one runs. */
export function pauseTeam(store: Store, team: Team, now: number): Promise<void> {
  return store.write(async (db) => {
    await touchWarehouse(db, team.id, iso(now));
    if ((await pausedTeams(db)).includes(team.id)) {
      throw new ApiError(
        "wrong_state",
        `The warehouse of the team ${team.name} is being looked after. Try again in a minute.`,
      );
    }
    await requireIdle(db, team);
    await updateWarehouse(db, team.id, { paused_at: iso(now) });
  });
}

export async function requireIdle(db: Db, team: Team): Promise<void> {
  if (!(await isTeamBusy(db, team.id))) return;
  throw new ApiError("wrong_state", `Jobs of the team ${team.name} run. Wait until they have ended, or cancel them.`);
}

export const resumeTeam = (store: Store, team: Team) =>
  store.write((db) => updateWarehouse(db, team.id, { paused_at: null }));

/** Versions that the copy does not have are removed, those that it has are back. */
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

async function missing(db: Db, team: Team, uuids: readonly string[]): Promise<string[]> {
  const present = new Set(uuids);
  return (await liveUuids(db, team.id)).filter((uuid) => !present.has(uuid));
}
