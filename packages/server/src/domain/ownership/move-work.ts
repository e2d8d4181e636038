/** Moves some of a user's work to another user in one write, and splits much work into parts for several writes. */
import type { Db } from "../../store/drivers/store.ts";
import { nextTurn, parts } from "../../store/queries/batches.ts";
import type { UserRow } from "../../store/queries/people/users.ts";
import { draftRunsOf } from "../../store/queries/people/work.ts";
import { lockPipeline, lockPipelines, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { lockSchedule, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { setTaskRunAs } from "../../store/queries/schedules/tasks.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import { isLive } from "../lifecycle/pipeline-progress.ts";
import { readRunAs, succeed } from "../lifecycle/run-as.ts";
import { reassignDrafts, setLaterRunAs, setRunAs } from "./new-owner.ts";
import type { FoundWork } from "./work.ts";

export type Leaver = Pick<UserRow, "id" | "username">;

/** Maximum number of runs of pipelines that one write hands over. */
export const runsPerWrite = 200;
/** Maximum number of pipelines, schedules and tasks together that one write hands over. */
export const itemsPerWrite = 50;

/** Whether one write can hand over all of this work. */
export const isLittle = ({ tasks, schedules, pipelines }: FoundWork): boolean =>
  tasks.length + schedules.length + pipelines.length <= itemsPerWrite &&
  pipelines.reduce((sum, { runs }) => sum + runs, 0) <= runsPerWrite;

/** Work that one write hands over. */
export interface Part extends FoundWork {
  /** Whether the write hands over only some runs of the pipeline, and a later part has the rest of it. */
  readonly goesOn?: boolean;
}

/** Splits work into parts. */
export function* partsOf(found: FoundWork): Generator<Part> {
  const none = { whose: found.whose, tasks: [], schedules: [], pipelines: [] };
  for (const part of pipelineParts(found.pipelines)) yield { ...none, ...part };
  for (const schedules of parts(found.schedules, itemsPerWrite)) yield { ...none, schedules };
  for (const tasks of parts(found.tasks, itemsPerWrite)) yield { ...none, tasks };
}

/** Several small pipelines form one part; a large one has several parts of its own, and its rest joins the next ones. */
function* pipelineParts(pipelines: FoundWork["pipelines"]): Generator<Pick<Part, "pipelines" | "goesOn">> {
  let group: FoundWork["pipelines"][number][] = [];
  let runs = 0;
  for (const one of pipelines) {
    let rest = one.runs;
    for (; rest > runsPerWrite; rest -= runsPerWrite) yield { pipelines: [one], goesOn: true };
    if (group.length === itemsPerWrite || runs + rest > runsPerWrite) {
      yield { pipelines: group };
      group = [];
      runs = 0;
    }
    group.push(one);
    runs += rest;
  }
  if (group.length > 0) yield { pipelines: group };
}

/** The pipelines and schedules to lock. */
interface Lockable {
  readonly pipelines: readonly { readonly row: { readonly id: string } }[];
  readonly schedules: readonly { readonly row: { readonly id: number; readonly pipeline_id: string } }[];
}

/** Locks pipelines, schedules and the templates of the schedules, in the order of all writes (ARCHITECTURE.md). */
export async function lockWork(db: Db, { pipelines, schedules }: Lockable): Promise<void> {
  await lockPipelines(
    db,
    pipelines.map(({ row }) => row.id),
  );
  for (const { row } of schedules) await lockSchedule(db, row.id);
  await lockPipelines(
    db,
    schedules.map(({ row }) => row.pipeline_id),
  );
}

/** A transaction that moves work from one user to another. */
interface Change extends Edit {
  readonly from: Leaver;
  readonly owner: UserRow;
}

/** Moves work to the new owner. The caller must have locked the work and both users. */
export async function moveWork(change: Change, { schedules, pipelines, tasks, goesOn = false }: Part): Promise<void> {
  for (const schedule of schedules) await moveSchedule(change, schedule);
  for (const { row } of pipelines) await moveRuns(change, row.id, goesOn);
  for (const task of tasks) await moveTask(change, task);
}

/** Writes to the audit log that one schedule, pipeline or task, or a part of it, was handed over. */
const note = ({ db, actor, from, owner, now }: Change, noun: string, teamId: number, target: string, part = "") =>
  audit(
    db,
    actor,
    {
      ...{ action: `${noun}.hand-over`, team: { id: teamId }, target },
      detail: `${from.username} to ${owner.username}${part}`,
    },
    now,
  );

async function moveSchedule(change: Change, { row: found, runs }: FoundWork["schedules"][number]): Promise<void> {
  const { db, from, owner, now } = change;
  await nextTurn();
  const row = await lockSchedule(db, found.id);
  if (!row) return;
  const template = await lockPipeline(db, row.pipeline_id);
  const runAs = succeed(readRunAs(template), from.id, owner.id);
  // Reread after the lock was taken: somebody else may have handed it over meanwhile.
  if (row.user_id !== from.id && (runs === 0 || JSON.stringify(runAs) === template.run_as)) return;
  if (runs > 0) await setRunAs(db, template, runAs, now);
  if (row.user_id === from.id) {
    await updatePipeline(db, template.id, { user_id: owner.id });
    await updateSchedule(db, row.id, { user_id: owner.id, created_by: row.created_by ?? row.user_id });
  }
  await note(change, "schedule", row.team_id, row.name);
}

/**
 * Moves the runs of a pipeline that have not begun. While runs remain for a later write (`goesOn`), the pipeline's later
 * runs still belong to the leaver: so if the server stops in between, the remaining runs can go to any successor.
 */
async function moveRuns(change: Change, id: string, goesOn: boolean): Promise<void> {
  const { db, from, owner, now } = change;
  await nextTurn();
  // Reread after the lock was taken: the pipeline may have ended meanwhile, or somebody else may have handed it over.
  const row = await lockPipeline(db, id);
  if (!isLive(row)) return;
  const runAs = succeed(readRunAs(row), from.id, owner.id);
  const runs = await draftRunsOf(db, id, from.id, runsPerWrite);
  if (runs.length === 0 && (goesOn || JSON.stringify(runAs) === row.run_as)) return;
  await reassignDrafts(db, runs, runAs);
  if (!goesOn) await setLaterRunAs(db, id, runAs, now);
  await note(change, "pipeline", row.team_id, row.name, goesOn ? `: ${runs.length} runs, more follow` : "");
}

async function moveTask(change: Change, task: FoundWork["tasks"][number]): Promise<void> {
  const { db, from, owner } = change;
  await nextTurn();
  const runAs = succeed(readRunAs(task), from.id, owner.id);
  if (await setTaskRunAs(db, task.job_id, JSON.stringify(runAs), task.run_as))
    await note(change, "task", task.team_id, task.name ?? task.job_id);
}
