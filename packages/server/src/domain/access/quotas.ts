/**
 * Quotas of teams: the number of queued jobs, the number of running jobs, and the bytes on disk and in the store. 0
 * means no limit. If the queue is full, the error is 429, because a retry can succeed later. If a quota of bytes is
 * exceeded, the error is 409, because a retry alone does not help.
 */
import { ApiError, type TeamUsage } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { pausedTeams } from "../../store/queries/datasets/warehouses.ts";
import { runningByTeam } from "../../store/queries/jobs/attempts.ts";
import { atLeastWaiting } from "../../store/queries/jobs/queue.ts";
import { type UsageKind, usageOf } from "../../store/queries/people/team-usage.ts";
import { lockTeam, quotasOf, runningQuotas, type TeamQuotas } from "../../store/queries/people/teams.ts";

/** Default limits on running and queued jobs, for teams without a quota of their own; 0 means no limit. */
export interface DefaultQuotas {
  readonly running: number;
  readonly queued: number;
}

/** Default quotas in bytes, for teams without a quota of their own; 0 means no limit. */
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

/** Returns the quota of a team in bytes: the team's own if it has one, otherwise the default. 0 means no limit. */
export const diskQuota = (own: TeamQuotas | undefined, kind: UsageKind, defaults: DiskQuotas): number =>
  own?.[columns[kind]] ?? defaults[kind];

/** Returns the bytes that a team uses, and its quotas; a quota of null means no limit. */
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

/**
 * Throws if uploads of `bytes`, which are not stored yet, would exceed the team's quota for uploads. Call it inside the
 * transaction that adds an upload.
 */
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
    `The upload does not fit: the team ${team.name} has ${sizeText(used)} of uploads, ${sizeText(bytes)} of further uploads have arrived so far, and its quota for uploads is ${sizeText(quota)} (max_upload_bytes, ${settings.uploads}). Uploads that no job uses are deleted after some days; an administrator of the server can raise the quota.`,
  );
}

/** Throws if the team's warehouse is over its quota. Called before a job that works with datasets is created. */
export async function requireRoomForDatasets(db: Db, team: NamedTeam, defaults: DiskQuotas): Promise<void> {
  const { bytes: used, quota } = (await readUsage(db, team.id, defaults)).datasets;
  if (quota === null || used <= quota) return;
  throw new ApiError(
    "wrong_state",
    `Jobs that work with datasets cannot start: the warehouse of the team ${team.name} takes ${sizeText(used)}, and its quota is ${sizeText(quota)} (max_dataset_bytes, ${settings.datasets}). Remove dataset versions: garbage collection frees their space the next time that no job of the team runs. Or ask an administrator of the server for a larger quota.`,
    { hint: "remove_versions" },
  );
}

/**
 * Throws if the team exceeds its quota for long texts, such as scripts. Call it in the transaction that wrote `added`
 * bytes of texts, after that write.
 */
export async function requireRoomForTexts(db: Db, team: NamedTeam, added: number, defaults: DiskQuotas): Promise<void> {
  if (added > 0) await requireTextsWithin(db, team, { counted: added, added }, defaults);
}

/**
 * Throws if `more` bytes of long texts, such as scripts, would exceed the team's quota. Call it before the texts are
 * written.
 */
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
    `There is no room for more long texts: those of the team ${team.name} (scripts, requirements, params and variables of jobs, texts and dependencies of dataset versions) take ${sizeText(used)}, another ${sizeText(added)} would be added, and the quota of the team is ${sizeText(quota)} (max_text_bytes, ${settings.texts}). A text that several jobs share counts once; variables count for each job. Reuse the same script, attach long texts as files, or ask an administrator of the server for a larger quota.`,
  );
}

/**
 * Returns an error text if the team's exports have used up their quota; undefined if there is room for another export.
 */
export async function whyNoExports(db: Db, teamId: number, defaults: DiskQuotas): Promise<string | undefined> {
  const { bytes: used, quota } = (await readUsage(db, teamId, defaults)).exports;
  if (quota === null || used < quota) return undefined;
  return `There is no room for another export: the files of the team's exports take ${sizeText(used)}, and their quota is ${sizeText(quota)} (max_export_bytes, ${settings.exports}). Export files are deleted some hours after they were requested (MILLRACE_EXPORT_HOURS); an administrator of the server can raise the quota.`;
}

/** Returns the error message of a job that the server ended because the team's warehouse exceeded its quota. */
export const overDatasets = (quota: number) =>
  `The server ended the job because the warehouse of its team exceeded its quota of ${sizeText(quota)} (max_dataset_bytes, ${settings.datasets}). Remove dataset versions, or ask an administrator of the server for a larger quota.`;

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
function sizeText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power]}`;
}

/**
 * If the team may queue at most this many more jobs, `mayQueue` locks the team before it counts the queued jobs. The
 * lock prevents concurrent transactions from exceeding the quota together.
 */
const writersAtOnce = 32;

/** Returns whether the team may queue another job. Call it inside the transaction that adds the job. */
export async function mayQueue(db: Db, teamId: number, defaults: DefaultQuotas): Promise<boolean> {
  const limit = await queueLimit(db, teamId, defaults);
  if (limit === 0) return true;
  if (limit > writersAtOnce && !(await atLeastWaiting(db, teamId, limit - writersAtOnce))) return true;
  await lockTeam(db, teamId);
  return !(await atLeastWaiting(db, teamId, limit));
}

const queueLimit = async (db: Db, teamId: number, defaults: DefaultQuotas) =>
  (await quotasOf(db, teamId))?.max_queued ?? defaults.queued;

/** Seconds after which a client should try again if the queue is full; sent in the Retry-After header. */
const retryAfter = 30;

export async function requireRoomInQueue(db: Db, team: NamedTeam, defaults: DefaultQuotas): Promise<void> {
  if (await mayQueue(db, team.id, defaults)) return;
  const limit = await queueLimit(db, team.id, defaults);
  throw new ApiError(
    "too_many_requests",
    `No further job can be queued: the team ${team.name} has ${limit} waiting jobs, as many as its quota allows (max_queued). Wait until some of them have started, cancel some, or ask an administrator of the server for a larger quota.`,
    { retryAfter },
  );
}

/** Returns how many jobs of the team may run at the same time; 0 means no limit. */
export const runningLimit = async (db: Db, teamId: number, defaults: DefaultQuotas): Promise<number> =>
  (await quotasOf(db, teamId))?.max_running ?? defaults.running;

/** Counts how many more jobs each team may start. */
export interface RoomToRun {
  /** Ids of teams that cannot start another job. */
  readonly full: readonly number[];
  /** Counts one more job as running. Returns false if the team already runs as many jobs as its quota allows. */
  take(teamId: number): boolean;
}

/**
 * Reads how many more jobs each team may start. A team whose warehouse is under maintenance is paused, and may start
 * none.
 */
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
