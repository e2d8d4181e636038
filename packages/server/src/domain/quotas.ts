/** Quotas of teams: how many jobs may wait, and how many may run at once. 0 is no limit. */
import { ApiError } from "@millrace/contract";
import { runningByTeam } from "../store/attempts.ts";
import { atLeastWaiting } from "../store/queue.ts";
import type { Db } from "../store/store.ts";
import { pausedTeams } from "../store/team-stores.ts";
import { lockTeam, quotasOf, runningQuotas } from "../store/teams.ts";

/** For teams that have none of their own. */
export interface DefaultQuotas {
  readonly running: number;
  readonly queued: number;
}

/** Writers that may count at the same time: this close to the limit they count one after another. */
const writersAtOnce = 32;

/** Whether another job of the team may wait. Ask inside the write that adds it. */
export async function mayQueue(db: Db, teamId: number, defaults: DefaultQuotas): Promise<boolean> {
  const limit = await queueLimit(db, teamId, defaults);
  if (limit === 0) return true;
  if (limit > writersAtOnce && !(await atLeastWaiting(db, teamId, limit - writersAtOnce))) return true;
  await lockTeam(db, teamId);
  return !(await atLeastWaiting(db, teamId, limit));
}

const queueLimit = async (db: Db, teamId: number, defaults: DefaultQuotas) =>
  (await quotasOf(db, teamId))?.max_queued ?? defaults.queued;

/** Seconds after which a full queue may have room. */
const retryAfter = 30;

export async function requireRoomInQueue(
  db: Db,
  team: { readonly id: number; readonly name: string },
  defaults: DefaultQuotas,
): Promise<void> {
  if (await mayQueue(db, team.id, defaults)) return;
  const limit = await queueLimit(db, team.id, defaults);
  throw new ApiError(
    "too_many_requests",
    `The team ${team.name} has ${limit} jobs waiting, its quota (max_queued). Wait until some have started, cancel some, or ask an administrator for more.`,
    { retryAfter },
  );
}

/** How many more jobs each team may start; counted down as they are. */
export interface RoomToRun {
  readonly full: readonly number[];
  /** False: the team runs as many as it may. */
  take(teamId: number): boolean;
}

/** A team that is paused has no room at all. */
export async function roomToRun(db: Db, defaults: DefaultQuotas): Promise<RoomToRun> {
  const paused = await pausedTeams(db);
  const room = await roomInQuotas(db, defaults);
  if (paused.length === 0) return room;
  return {
    full: [...new Set([...room.full, ...paused])],
    take: (teamId) => !paused.includes(teamId) && room.take(teamId),
  };
}

async function roomInQuotas(db: Db, defaults: DefaultQuotas): Promise<RoomToRun> {
  const own = new Map((await runningQuotas(db)).map(({ id, max_running }) => [id, max_running]));
  if (own.size === 0 && defaults.running === 0) return { full: [], take: () => true };
  const limitOf = (teamId: number) => (own.get(teamId) ?? defaults.running) || Number.POSITIVE_INFINITY;
  const running = new Map((await runningByTeam(db)).map((row) => [row.team_id, Number(row.running)]));
  return {
    full: [...running].filter(([teamId, count]) => count >= limitOf(teamId)).map(([teamId]) => teamId),
    take(teamId) {
      const count = running.get(teamId) ?? 0;
      if (count >= limitOf(teamId)) return false;
      running.set(teamId, count + 1);
      return true;
    },
  };
}
