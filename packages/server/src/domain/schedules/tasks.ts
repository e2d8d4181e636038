/**
 * Tasks: the rules for reading, changing and pausing them. Tasks are created and canceled as jobs. They are fired by
 * task-firings.ts.
 */
import { ApiError, type Task, type TaskItem, type UpdateTaskInput } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { usersByIds } from "../../store/queries/people/users.ts";
import { findTask, listTasks, lockTask, type ShownTask, updateTask } from "../../store/queries/schedules/tasks.ts";
import type { Signals } from "../../turns/signals.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Team } from "../access/principals.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { readRunAs, runsAs } from "../lifecycle/run-as.ts";
import { firstRun, readTimes, runAfter, runsFrom, type ScheduleTimes, shownRuns } from "./schedule-times.ts";

export interface TasksContext {
  readonly store: Store;
  readonly signals: Signals;
}

/** Returns the times at which a task fires, from its spec. */
export function taskTimes(job: { readonly spec: string }): ScheduleTimes {
  const { start_after, cron_expression, timezone = "UTC" } = readSpec(job);
  return { start_after, cron_expression, timezone };
}

/** Returns a function that takes a task and returns the name of the user whose rights the task's jobs have. */
async function ownersOf(db: Db, rows: readonly ShownTask[]): Promise<(row: ShownTask) => string> {
  const ownerOf = (row: ShownTask) => runsAs(readRunAs(row), row.user_id);
  const others = rows.filter((row) => ownerOf(row) !== row.user_id).map(ownerOf);
  const users = others.length === 0 ? [] : await usersByIds(db, [...new Set(others)]);
  const names = new Map(users.map(({ id, username }) => [id, username]));
  return (row) => names.get(ownerOf(row)) ?? row.username;
}

const itemOf = (row: ShownTask, owner: string): TaskItem => ({
  id: row.job_id,
  name: row.name,
  created_by: row.username,
  owner,
  created_at: row.created_at,
  ...taskTimes(row),
  is_paused: row.next_run === null,
  next_run: row.next_run,
  fired: row.fired,
  skipped: row.skips,
  last_error: row.last_error,
});

const documentOf = async (db: Db, row: ShownTask): Promise<Task> => ({
  ...itemOf(row, (await ownersOf(db, [row]))(row)),
  next_runs: runsFrom(taskTimes(row), row.next_run, shownRuns),
});

interface TaskItems {
  readonly tasks: TaskItem[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

export async function listTeamTasks(
  { store }: TasksContext,
  team: Team,
  { cursor, limit = 100 }: { readonly cursor?: string; readonly limit?: number },
): Promise<TaskItems> {
  const rows = await listTasks(store.db, team.id, cursor?.toLowerCase(), limit);
  const ownerOf = await ownersOf(store.db, rows);
  const tasks = rows.map((row) => itemOf(row, ownerOf(row)));
  return { tasks, next: rows.length < limit ? undefined : rows.at(-1)?.job_id };
}

export async function readTeamTask({ store }: TasksContext, team: Team, id: string): Promise<Task> {
  return documentOf(store.db, (await findTask(store.db, team.id, id)) ?? refuseUnknown(team, id));
}

function refuseUnknown(team: Team, id: string): never {
  throw new ApiError("not_found", `There is no task ${id} in the team ${team.name}, or the task has ended.`, {
    hint: "list_tasks",
  });
}

/** Changes, pauses or resumes a task. */
export async function updateTeamTask(
  { store, signals }: TasksContext,
  { actor, team }: Call,
  { job_id: id, ...input }: UpdateTaskInput & { readonly job_id: string },
  now: number,
): Promise<Task> {
  const task = await store.write(async (db) => {
    // The task is locked before it is read, so that it does not fire with the old values meanwhile.
    await lockTask(db, id);
    const row = (await findTask(db, team.id, id)) ?? refuseUnknown(team, id);
    const times = readTimes(input, taskTimes(row), false);
    const name = input.name == null ? row.name : input.name.trim() || null;
    const spec = JSON.stringify({ ...readSpec(row), ...times, name });
    const changed = { ...row, name, spec, next_run: nextRunOf(row, times, input.is_paused, now) };
    await updateTask(db, id, changed);
    await audit(db, actor, { action: "task.update", team, target: id, detail: changeText(input) }, now);
    return documentOf(db, changed);
  });
  signals.tasks.wake();
  signals.jobChanged(id);
  return task;
}

/**
 * Returns the time of the next run after a change; null while the task is paused. New times apply from now on. Ticks
 * during a pause are not made up for.
 */
function nextRunOf(
  row: ShownTask,
  times: ScheduleTimes,
  isPaused: boolean | null | undefined,
  now: number,
): string | null {
  const present = taskTimes(row);
  const wasPaused = row.next_run === null;
  const first = (["start_after", "cron_expression", "timezone"] as const).some(
    (field) => times[field] !== present[field],
  )
    ? firstRun(times, now)
    : undefined;
  if (isPaused ?? wasPaused) return null;
  const next = first ?? (wasPaused ? runAfter(times, now) : row.next_run);
  if (next !== null) return next;
  throw new ApiError(
    "wrong_state",
    `The task ${row.job_id} would never run: its start time, ${times.start_after}, passed while it was paused. Set a new start_after, or cancel the task.`,
  );
}

/** Returns the changed fields for the audit log. */
const changeText = ({ team_name: _, ...changes }: UpdateTaskInput) =>
  Object.entries(changes)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
