/**
 * Quotas of teams: how many jobs may wait, how many may run at once, and what may lie on disk and in the store. 0 is no limit.
 * A full queue is a 429, since it has room again by itself; a full disk quota is a 409: repeating the request does not help.
 */
import { ApiError, type TeamUsage } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { pausedTeams } from "../../store/queries/datasets/warehouses.ts";
import { runningByTeam } from "../../store/queries/jobs/attempts.ts";
import { atLeastWaiting } from "../../store/queries/jobs/queue.ts";
import { type UsageKind, usageOf } from "../../store/queries/people/team-usage.ts";
import { lockTeam, quotasOf, runningQuotas, type TeamQuotas } from "../../store/queries/people/teams.ts";

/** For teams that have none of their own. */
export interface DefaultQuotas {
  readonly running: number;
  readonly queued: number;
}

/** The same in bytes, on disk or in the store. */
export interface DiskQuotas {
  readonly datasets: number;
  readonly uploads: number;
  readonly logs: number;
  readonly texts: number;
  readonly exports: number;
  readonly environments: number;
}

const columns = {
  datasets: "max_dataset_bytes",
  uploads: "max_upload_bytes",
  logs: "max_log_bytes",
  texts: "max_text_bytes",
  exports: "max_export_bytes",
  environments: "max_environment_bytes",
} as const;
const settings = {
  datasets: "MILLRACE_TEAM_DATASETS",
  uploads: "MILLRACE_TEAM_UPLOADS",
  logs: "MILLRACE_TEAM_LOGS",
  texts: "MILLRACE_TEAM_TEXTS",
  exports: "MILLRACE_TEAM_EXPORTS",
} as const;

/** In bytes; 0: no limit. */
export const diskQuota = (own: TeamQuotas | undefined, kind: UsageKind, defaults: DiskQuotas): number =>
  own?.[columns[kind]] ?? defaults[kind];

/** What a team keeps on disk, and how much it may. */
export async function readUsage(db: Db, teamId: number, defaults: DiskQuotas): Promise<TeamUsage> {
  const own = await quotasOf(db, teamId);
  const usage = await usageOf(db, teamId);
  const of = (kind: UsageKind) => ({ bytes: usage[kind], quota: diskQuota(own, kind, defaults) || null });
  return {
    ...{ datasets: of("datasets"), uploads: of("uploads"), logs: of("logs") },
    ...{ texts: of("texts"), exports: of("exports"), environments: of("environments") },
  };
}

interface NamedTeam {
  readonly id: number;
  readonly name: string;
}

/** Refuses an upload of so many bytes that would lead beyond the quota. Ask inside the write that adds it. */
export async function requireRoomForUpload(
  db: Db,
  team: NamedTeam,
  bytes: number,
  defaults: DiskQuotas,
): Promise<void> {
  await lockTeam(db, team.id);
  const { bytes: used, quota } = (await readUsage(db, team.id, defaults)).uploads;
  if (quota === null || used + bytes <= quota) return;
  throw new ApiError(
    "wrong_state",
    `The team ${team.name} has ${sizeText(used)} of uploads, and its quota is ${sizeText(quota)} (max_upload_bytes, ${settings.uploads}). Files that no job takes along are removed after some days; an administrator of the server can give it more.`,
  );
}

/** Refuses a job that uses the library while the team's warehouse is over its quota. */
export async function requireRoomForDatasets(db: Db, team: NamedTeam, defaults: DiskQuotas): Promise<void> {
  const { bytes: used, quota } = (await readUsage(db, team.id, defaults)).datasets;
  if (quota === null || used <= quota) return;
  throw new ApiError(
    "wrong_state",
    `The warehouse of the team ${team.name} takes ${sizeText(used)}, and its quota is ${sizeText(quota)} (max_dataset_bytes, ${settings.datasets}). Remove versions of datasets: the space is free after the next garbage collection, while no job of the team runs. Or ask an administrator of the server for more.`,
    { hint: "remove_versions" },
  );
}

/** Refuses what has just added so many bytes of texts and led beyond the quota. Ask inside the write, after them. */
export async function requireRoomForTexts(db: Db, team: NamedTeam, added: number, defaults: DiskQuotas): Promise<void> {
  if (added > 0) await requireTextsWithin(db, team, { counted: added, added }, defaults);
}

/** The same before so many bytes are added. */
export async function requireRoomForMoreTexts(
  db: Db,
  team: NamedTeam,
  more: number,
  defaults: DiskQuotas,
): Promise<void> {
  if (more > 0) await requireTextsWithin(db, team, { counted: 0, added: more }, defaults);
}

async function requireTextsWithin(
  db: Db,
  team: NamedTeam,
  { counted, added }: { readonly counted: number; readonly added: number },
  defaults: DiskQuotas,
): Promise<void> {
  const { bytes, quota } = (await readUsage(db, team.id, defaults)).texts;
  const used = bytes - counted;
  if (quota === null || used + added <= quota) return;
  throw new ApiError(
    "wrong_state",
    `The long texts of the team ${team.name} (scripts, requirements, params and variables of jobs, texts of dataset versions) take ${sizeText(used)}, this would add ${sizeText(added)}, and its quota is ${sizeText(quota)} (max_text_bytes, ${settings.texts}). A text that several jobs have counts once, variables count for each job: send the same script again, attach what is long as a file, or ask an administrator of the server for more.`,
  );
}

/** Refuses an export while those of the team are over their quota. Undefined: there is room. */
export async function whyNoExports(db: Db, teamId: number, defaults: DiskQuotas): Promise<string | undefined> {
  const { bytes: used, quota } = (await readUsage(db, teamId, defaults)).exports;
  if (quota === null || used < quota) return undefined;
  return `The files of the team's exports take ${sizeText(used)}, and their quota is ${sizeText(quota)} (max_export_bytes, ${settings.exports}). They are removed some hours after they were asked for (MILLRACE_EXPORT_HOURS); an administrator of the server can give the team more.`;
}

/** For the owner of a job that was ended for it. */
export const overDatasets = (quota: number) =>
  `The job was ended: the warehouse of its team went over its quota of ${sizeText(quota)} (max_dataset_bytes, ${settings.datasets}). Remove versions of datasets, or ask an administrator of the server for more.`;

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
function sizeText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
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

export async function requireRoomInQueue(db: Db, team: NamedTeam, defaults: DefaultQuotas): Promise<void> {
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
