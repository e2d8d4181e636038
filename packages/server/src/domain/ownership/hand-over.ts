/** Hands over one schedule, pipeline or task to a new owner. From then on, its jobs run as the new owner. */
import { ApiError } from "@millrace/contract";
import { getShortJob } from "../../store/queries/jobs/jobs.ts";
import { lockPipeline, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { type ScheduleRow, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { setTaskRunAs } from "../../store/queries/schedules/tasks.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import type { Transaction } from "../access/edit.ts";
import { existingUser } from "../access/existing-user.ts";
import { namesIn } from "../jobs/job-credentials.ts";
import type { JobsContext } from "../jobs/jobs.ts";
import { readSpec } from "../lifecycle/job-documents.ts";
import { changePipeline, rememberToken } from "../pipelines/pipelines.ts";
import { runsWithOriginals } from "../pipelines/update-pipeline-settings.ts";
import { allAs, requireNewOwner, requireSets, setRunAs } from "./new-owner.ts";
import { credentialsOf } from "./work.ts";

/** The new owner, as a request names it. */
export interface Wish {
  /** Username of the new owner. */
  readonly owner: string;
  /** Whether to hand over even if the new owner lacks credentials that the runs need. */
  readonly force: boolean;
}

/**
 * Gives a schedule to a new owner. The caller must have locked the schedule's row. Pipelines that the schedule has
 * already started keep their owner.
 */
export async function giveSchedule(
  { db, now }: Transaction,
  { principal, actor, team }: Call,
  row: ScheduleRow,
  { owner, force }: Wish,
): Promise<void> {
  const to = await existingUser(db, owner);
  await requireNewOwner(db, team, principal, to);
  const template = await lockPipeline(db, row.pipeline_id);
  const names = credentialsOf(template, await runsWithOriginals(db, template));
  await requireSets(db, to, ofTeam(team.id, names), force);
  await setRunAs(db, template, allAs(principal, to), now);
  await updatePipeline(db, template.id, { user_id: to.id });
  await updateSchedule(db, row.id, { user_id: to.id, created_by: row.created_by ?? row.user_id });
  await audit(db, actor, { action: "schedule.hand-over", team, target: row.name, detail: `to ${owner}` }, now);
}

const ofTeam = (teamId: number, names: readonly string[]) => names.map((name) => ({ teamId, name }));

/** Gives a pipeline to a new owner. Runs that have already begun keep their owner. */
export const givePipeline = (
  context: JobsContext,
  call: Call,
  { owner, force, ...input }: Wish & { readonly name?: string | null; readonly pipeline_id?: string | null },
  now: number,
) =>
  changePipeline(context, call, { action: "hand-over", input, now }, async (edit) => {
    const { db, pipeline } = edit;
    const to = await existingUser(db, owner);
    await requireNewOwner(db, call.team, call.principal, to);
    const names = credentialsOf(pipeline, await runsWithOriginals(db, pipeline));
    await requireSets(db, to, ofTeam(call.team.id, names), force);
    await setRunAs(db, pipeline, allAs(call.principal, to), now);
    await rememberToken(edit);
    return `to ${owner}`;
  });

/** Gives a task to a new owner. Jobs that the task has already created keep their owner. */
export async function giveTask(
  { store, signals }: JobsContext,
  { principal, actor, team }: Call,
  { id, owner, force }: Wish & { readonly id: string },
  now: number,
): Promise<void> {
  await store.write(async (db) => {
    const task = await getShortJob(db, id);
    if (task?.team_id !== team.id)
      throw new ApiError("not_found", `There is no task ${id} in the team ${team.name}.`, { hint: "list_tasks" });
    const to = await existingUser(db, owner);
    await requireNewOwner(db, team, principal, to);
    await requireSets(db, to, ofTeam(team.id, namesIn(readSpec(task))), force);
    if (!(await setTaskRunAs(db, id, JSON.stringify(allAs(principal, to)))))
      throw new ApiError(
        "wrong_state",
        `The job ${id} is ${task.status}; only a task that waits for its next run can be handed over.`,
      );
    await audit(db, actor, { action: "task.hand-over", team, target: task.name ?? id, detail: `to ${owner}` }, now);
  });
  signals.jobChanged(id);
}
