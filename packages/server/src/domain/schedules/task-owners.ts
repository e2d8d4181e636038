/** As whom a task fires, and what is written down where that user cannot run jobs any more. */

import type { Db } from "../../store/drivers/store.ts";
import type { ShortJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { setTaskError } from "../../store/queries/schedules/tasks.ts";
import { audit } from "../access/audit.ts";
import { type HandedOver, inNameOf } from "../lifecycle/run-as.ts";
import { absentCreator } from "../pipelines/pipeline-sources.ts";

interface TaskOwner {
  /** The task as its next job is made from it. */
  readonly original: ShortJob;
  /** Why it cannot fire; null: nothing is in the way. */
  readonly absent: string | null;
}

/** Of a task that is held: until the end of the write nobody hands it over. */
export async function taskOwner(db: Db, task: ShortJob, held: HandedOver): Promise<TaskOwner> {
  const original = await inNameOf(db, held, task);
  const absent = await absentCreator(db, [original]);
  return {
    original: { ...original, error_message: null },
    absent: absent === undefined ? null : `It cannot fire: ${absent} Hand the task over to somebody else.`,
  };
}

/** Shown with the task, and once in the audit of its team; gone again once it can fire. */
export async function noteAbsence(db: Db, task: ShortJob, { original, absent }: TaskOwner, now: number): Promise<void> {
  const { id, name, team_id, error_message } = task;
  if (absent === error_message) return;
  await setTaskError(db, id, absent);
  if (absent === null) return;
  const userId = original.user_id;
  const actor = { userId, username: await usernameOf(db, userId), via: `task ${name ?? id}`, address: "" };
  await audit(db, actor, { action: "task.fail", team: { id: team_id }, target: name ?? id, detail: absent }, now);
}
