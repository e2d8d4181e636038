/** The user whose rights the jobs of a task have, and the error if that user may no longer run jobs. */

import type { Db } from "../../store/drivers/store.ts";
import type { ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { setTaskError } from "../../store/queries/schedules/tasks.ts";
import { audit } from "../access/audit.ts";
import { type HandedOver, inNameOf } from "../lifecycle/run-as.ts";
import { absentCreator } from "../pipelines/pipeline-sources.ts";

interface TaskOwner {
  /** The task, with the user and scopes that its next job gets. */
  readonly original: ShortJob;
  /** Why the task cannot fire; null if it can. */
  readonly absent: string | null;
}

/**
 * Returns the task with the user and the scopes of its owner. `held` is the row of the task, which the caller has
 * locked so that nobody hands the task over meanwhile.
 */
export async function taskOwner(db: Db, task: ShortJob, held: HandedOver): Promise<TaskOwner> {
  const original = await inNameOf(db, held, task);
  const absent = await absentCreator(db, [original]);
  return {
    original: { ...original, error_message: null },
    absent: absent === undefined ? null : `The task cannot fire: ${absent} Hand the task over to another user.`,
  };
}

/** Stores the error of a task, or clears it once the task can fire. A new error is also written to the audit log. */
export async function noteAbsence(db: Db, task: ShortJob, { original, absent }: TaskOwner, now: number): Promise<void> {
  const { id, name, team_id, error_message } = task;
  if (absent === error_message) return;
  await setTaskError(db, id, absent);
  if (absent === null) return;
  const userId = original.user_id;
  const actor = { userId, username: await usernameOf(db, userId), via: `task ${name ?? id}`, address: "" };
  await audit(db, actor, { action: "task.fail", team: { id: team_id }, target: name ?? id, detail: absent }, now);
}
