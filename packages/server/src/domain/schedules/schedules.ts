/** Schedules: the rules for creating, changing, reading and deleting them. schedule-firings.ts fires them. */
import {
  ApiError,
  type CreatePipelineScheduleInput,
  invalid,
  type PipelineSchedule,
  type PipelineScheduleItem,
  roleIncludes,
  type ScheduleFiring,
  type UpdatePipelineScheduleInput,
} from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  deleteTemplate,
  findPipeline,
  getPipeline,
  type PipelineRow,
} from "../../store/queries/pipelines/pipelines.ts";
import { firingsOf, newestFirings } from "../../store/queries/schedules/firings.ts";
import { dropNotice } from "../../store/queries/schedules/schedule-notices.ts";
import {
  deleteSchedule,
  findSchedule,
  findScheduleByName,
  insertSchedule,
  listSchedules,
  lockSchedule,
  type ScheduleRow,
  updateSchedule,
} from "../../store/queries/schedules/schedules.ts";
import type { Signals } from "../../turns/signals.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Transaction } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import type { DefaultQuotas, DiskQuotas } from "../access/quotas.ts";
import { requireRoomForSchedule, type TaskQuotas } from "../jobs/task-quotas.ts";
import { dropWaiting, firingDocument } from "../lifecycle/schedule-record.ts";
import { giveSchedule } from "../ownership/hand-over.ts";
import { makeTemplate } from "../pipelines/new-pipeline.ts";
import { newerScripts } from "../pipelines/newer-scripts.ts";
import { type PipelineFrame, pipelineDocument } from "../pipelines/pipeline-documents.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { refreshTemplate } from "./refresh-schedule.ts";
import { healthOf } from "./schedule-health.ts";
import { type Owned, ownersOf } from "./schedule-owners.ts";
import {
  holdPipelinesOf,
  type Pausable,
  pauseOrResume,
  pauseOrResumeMany,
  requireResumable,
} from "./schedule-pauses.ts";
import { firstRun, readTimes, runAfter, runsFrom, type ScheduleTimes, shownRuns } from "./schedule-times.ts";
import {
  noTrigger,
  readTrigger,
  requireNoCircle,
  type ShownTrigger,
  shownTriggers,
  type Trigger,
} from "./schedule-triggers.ts";

export interface SchedulesContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly signals: Signals;
  readonly quotas: DefaultQuotas & DiskQuotas & TaskQuotas;
}

/** Creates a schedule. Its template is a copy of the pipeline, and each firing runs a copy of the template. */
export async function createTeamSchedule(
  context: SchedulesContext,
  call: Call,
  input: CreatePipelineScheduleInput,
  now: number,
): Promise<PipelineSchedule> {
  const { principal, actor, team } = call;
  const times = readTimes(
    input,
    { start_after: null, cron_expression: null, timezone: "UTC" },
    !!input.trigger_dataset?.trim(),
  );
  const name = readName(input.schedule_name);
  const row = {
    team_id: team.id,
    user_id: principal.userId,
    name,
    ...times,
    overlap: input.overlap ?? "skip",
    catch_up: input.catch_up ?? "one",
    follow: input.follow ?? "none",
    is_paused: 0,
    next_run: firstRun(times, now),
    fired: 0,
    created_at: iso(now),
    updated_at: iso(now),
  } as const;
  const schedule = await context.store.write(async (db) => {
    const source = await requirePipeline(db, team, input.pipeline_name);
    await requireRoomForSchedule(db, team, context.quotas);
    const trigger = await readTrigger(db, { team, principal }, input, noTrigger);
    const id = await insertSchedule(db, { ...row, ...trigger, pipeline_id: source.id });
    if (id === undefined) throw nameTaken(team, name);
    await requireNoCircle(db, team, { id, name, pipeline_id: source.id, ...trigger });
    const own = { ...source, user_id: principal.userId, scopes: JSON.stringify(principal.scopes) };
    const template = await makeTemplate({ db, now }, context.keys, own, id);
    await updateSchedule(db, id, { pipeline_id: template });
    await audit(db, actor, { action: "schedule.create", team, target: name, detail: source.name }, now);
    await giveTo({ db, now }, call, await requireSchedule(db, team, id), input);
    return scheduleDocument(db, await requireSchedule(db, team, id), frameOf(context, team, now));
  });
  context.signals.schedules.wake();
  return schedule;
}

/** Hands the schedule over if the input names a new owner. */
async function giveTo(
  { db, now }: Transaction,
  call: Call,
  row: ScheduleRow,
  { owner, force }: Pick<UpdatePipelineScheduleInput, "owner" | "force">,
): Promise<void> {
  if (typeof owner === "string") await giveSchedule({ db, now }, call, row, { owner, force: force === true });
}

function readName(text: string): string {
  const name = text.trim();
  if (name === "") throw invalid("schedule_name", "a name", text);
  return name;
}

const nameTaken = (team: Team, name: string) =>
  new ApiError("wrong_state", `The team ${team.name} already has a schedule ${name}. Choose another name.`);

export async function requirePipeline(db: Db, team: Team, name: string): Promise<PipelineRow> {
  const pipeline = await findPipeline(db, team.id, name.trim());
  if (pipeline) return pipeline;
  throw new ApiError("not_found", `There is no pipeline ${name} in the team ${team.name}.`, { hint: "list_pipelines" });
}

const requireSchedule = async (db: Db, team: Team, id: number): Promise<ScheduleRow> =>
  (await findSchedule(db, team.id, id)) ?? refuseUnknown(team, id);

/** Locks a schedule. Until the end of the transaction, nobody else changes the schedule, and it does not fire. */
async function holdSchedule(db: Db, team: Team, id: number): Promise<ScheduleRow> {
  await requireSchedule(db, team, id);
  return (await lockSchedule(db, id)) ?? refuseUnknown(team, id);
}

function refuseUnknown(team: Team, id: number): never {
  throw new ApiError("not_found", `There is no schedule ${id} in the team ${team.name}.`, { hint: "list_schedules" });
}

export async function updateTeamSchedule(
  context: SchedulesContext,
  call: Call,
  input: UpdatePipelineScheduleInput,
  now: number,
): Promise<PipelineSchedule> {
  const { principal, actor, team } = call;
  const { schedule_id: id } = input;
  if (input.pause_pipeline === false) {
    await requireSchedule(context.store.db, team, id);
    await requireResumable(context.store.db, id);
  }
  const pausable = await context.store.write(async (db) => {
    const pausable = await holdPaused(db, team, input);
    const row = await holdSchedule(db, team, id);
    const trigger = await readTrigger(db, { team, principal }, input, row);
    const changes = { ...changesOf(row, input, trigger, now), ...trigger };
    if (changes.trigger_dataset_id !== row.trigger_dataset_id) await requireNoCircle(db, team, { ...row, ...changes });
    if (changes.is_paused === 1 || changes.trigger_dataset_id !== row.trigger_dataset_id) await dropNotice(db, row.id);
    if (changes.name !== row.name && (await findScheduleByName(db, team.id, changes.name)))
      throw nameTaken(team, changes.name);
    const switching = pausable?.areMany ? JSON.stringify(actor) : pausable ? null : row.switching;
    await updateSchedule(db, row.id, { ...changes, switching, updated_at: iso(now) });
    if (row.waiting_since && !changes.waiting_since)
      await dropWaiting(
        db,
        row,
        changes.is_paused === 1 ? "the schedule was paused." : "overlap is no longer wait.",
        now,
      );
    const taken = input.refresh ? await refreshTemplate(db, team, row.pipeline_id, now) : undefined;
    if (pausable) await pauseOrResume({ db, now, actor }, team, row, pausable, context.quotas);
    await audit(
      db,
      actor,
      { action: "schedule.update", team, target: row.name, detail: changeText(input, taken) },
      now,
    );
    await giveTo({ db, now }, call, row, input);
    return pausable;
  });
  const refusal = pausable?.areMany ? await pauseOrResumeMany(context.store, id, pausable.isPause, now) : undefined;
  for (const signal of ["schedules", "dispatch", "observe"] as const) context.signals[signal].wake();
  if (refusal) throw refusal;
  const { db } = context.store;
  return scheduleDocument(db, await requireSchedule(db, team, id), frameOf(context, team, now));
}

/** Locks the pipelines that a change of a schedule will pause or resume. */
async function holdPaused(
  db: Db,
  team: Team,
  { schedule_id: id, pause_pipeline: isPause }: UpdatePipelineScheduleInput,
): Promise<Pausable | undefined> {
  if (isPause == null) return undefined;
  await requireSchedule(db, team, id);
  return holdPipelinesOf(db, id, isPause);
}

/** Returns the changed fields for the audit log, followed by `taken`, the scripts that a refresh added. */
const changeText = ({ team_name: _team, schedule_id: _id, ...changes }: UpdatePipelineScheduleInput, taken = "") =>
  Object.entries(changes)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${value}`)
    .concat(taken)
    .join(" ")
    .trimEnd();

/** Returns the new values of a schedule's columns after a change. */
function changesOf(row: ScheduleRow, input: UpdatePipelineScheduleInput, trigger: Trigger, now: number) {
  const times = readTimes(input, row, trigger.trigger_dataset_id !== null);
  const isPaused = input.pause_pipeline ?? row.is_paused === 1;
  const overlap = input.overlap ?? row.overlap;
  return {
    ...times,
    name: input.schedule_name == null ? row.name : readName(input.schedule_name),
    overlap,
    catch_up: input.catch_up ?? row.catch_up,
    follow: input.follow ?? row.follow,
    is_paused: isPaused ? 1 : 0,
    next_run: isPaused ? null : nextRunOf(row, times, now),
    waiting_since: isPaused || overlap !== "wait" ? null : row.waiting_since,
  };
}

/**
 * Returns the time of the next run after a change. New times apply from now on. Ticks during a pause are not made up
 * for.
 */
function nextRunOf(row: ScheduleRow, times: ScheduleTimes, now: number): string | null {
  const isNew = (field: keyof ScheduleTimes) => times[field] !== row[field];
  if (isNew("start_after") || isNew("cron_expression") || isNew("timezone")) return firstRun(times, now);
  return row.is_paused === 1 ? runAfter(times, now) : row.next_run;
}

/** Deletes a schedule and its template. Pipelines that the schedule has started go on. */
export async function deleteTeamSchedule(
  { store }: SchedulesContext,
  { actor, team }: Call,
  id: number,
  now: number,
): Promise<void> {
  await store.write(async (db) => {
    const row = await holdSchedule(db, team, id);
    await deleteSchedule(db, id);
    await dropNotice(db, id);
    await deleteTemplate(db, row.pipeline_id);
    await audit(db, actor, { action: "schedule.delete", team, target: row.name }, now);
  });
}

export async function readTeamSchedule(
  context: SchedulesContext,
  team: Team,
  id: number,
  now: number,
): Promise<PipelineSchedule> {
  const { db } = context.store;
  return scheduleDocument(db, await requireSchedule(db, team, id), frameOf(context, team, now));
}

/** Maximum number of schedules on a page. */
const listPart = 1000;

interface ScheduleItems {
  readonly schedules: readonly PipelineScheduleItem[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: number | undefined;
}

export async function listTeamSchedules(
  { store }: SchedulesContext,
  team: Team,
  cursor: number | undefined,
  now: number,
): Promise<ScheduleItems> {
  const after = cursor === undefined ? undefined : await findSchedule(store.db, team.id, cursor);
  if (cursor !== undefined && !after) throw invalid("cursor", "the x-next-cursor of the previous page", cursor);
  const rows = await listSchedules(store.db, team.id, after?.name, listPart);
  const owned = await ownersOf(store.db, team.id, rows);
  const triggers = await shownTriggers(store.db, rows);
  const newer = await newerScripts(
    store.db,
    rows.map(({ pipeline_id }) => pipeline_id),
  );
  const firings = await lastFirings(store.db, rows);
  return {
    schedules: rows.map((row) =>
      itemOf(row, { ...owned(row), ...triggers(row), last_firing: firings.get(row.id) ?? null }, newer, now),
    ),
    next: rows.length < listPart ? undefined : rows.at(-1)?.id,
  };
}

async function lastFirings(db: Db, rows: readonly ScheduleRow[]): Promise<Map<number, ScheduleFiring>> {
  if (rows.length === 0) return new Map();
  const firings = await newestFirings(
    db,
    rows.map(({ id }) => id),
  );
  return new Map(firings.map((firing) => [firing.schedule_id, firingDocument(firing)]));
}

type Shown = Owned & ShownTrigger & Pick<PipelineScheduleItem, "last_firing">;

function itemOf(
  row: ScheduleRow,
  shown: Shown,
  newer: Awaited<ReturnType<typeof newerScripts>>,
  now: number,
): PipelineScheduleItem {
  const { health, reason } = healthOf(row, now, shown.owner_problem);
  return {
    id: row.id,
    schedule_name: row.name,
    created_at: row.created_at,
    updated_at: row.updated_at,
    start_after: row.start_after,
    cron_expression: row.cron_expression,
    timezone: row.timezone,
    overlap: row.overlap,
    catch_up: row.catch_up,
    follow: row.follow,
    newer_scripts: newer(row.pipeline_id),
    is_paused: row.is_paused === 1,
    next_run: row.next_run,
    waiting_since: row.waiting_since,
    fired: row.fired,
    last_error: row.last_error,
    health,
    health_reason: reason,
    skipped: row.skips,
    ...shown,
  };
}

/** The reader to whom a schedule is shown, and the time for which the health of the schedule is computed. */
interface ScheduleFrame extends PipelineFrame {
  readonly team: Team;
  readonly now: number;
}

const frameOf = ({ keys }: SchedulesContext, team: Team, now: number): ScheduleFrame => ({
  keys,
  showsValues: roleIncludes(team.role, "editor"),
  team,
  now,
});

async function scheduleDocument(db: Db, row: ScheduleRow, frame: ScheduleFrame): Promise<PipelineSchedule> {
  const { team, now } = frame;
  const documentOf = async (id: string | null) => {
    const pipeline = id === null ? undefined : await getPipeline(db, id);
    return pipeline ? pipelineDocument(db, pipeline, frame) : null;
  };
  const template = await documentOf(row.pipeline_id);
  if (!template) return refuseUnknown(team, row.id);
  const owned = await ownersOf(db, team.id, [row]);
  const triggers = await shownTriggers(db, [row]);
  const firings = (await firingsOf(db, row.id)).map(firingDocument);
  const shown = { ...owned(row), ...triggers(row), last_firing: firings[0] ?? null };
  return {
    ...itemOf(row, shown, await newerScripts(db, [row.pipeline_id]), now),
    next_runs: runsFrom(row, row.next_run, shownRuns),
    firings,
    latest_run: await documentOf(row.latest_pipeline_id),
    pipeline: template,
  };
}
