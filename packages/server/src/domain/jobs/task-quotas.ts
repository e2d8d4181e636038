/** Quotas of what fires by itself: how many tasks and schedules a team may have. 0 is no limit. */
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { lockTeam, quotasOf } from "../../store/queries/people/teams.ts";
import { atLeastSchedules } from "../../store/queries/schedules/schedules.ts";
import { atLeastTasks } from "../../store/queries/schedules/tasks.ts";
import type { Team } from "../access/principals.ts";

/** For teams that have none of their own. */
export interface TaskQuotas {
  readonly tasks: number;
  readonly schedules: number;
}

type NamedTeam = Pick<Team, "id" | "name">;

/** Refuses a task too many. Ask inside the write that adds it. */
export async function requireRoomForTask(db: Db, team: NamedTeam, defaults: TaskQuotas): Promise<void> {
  const limit = (await quotasOf(db, team.id))?.max_tasks ?? defaults.tasks;
  if (await hasRoom(db, team, limit, atLeastTasks)) return;
  throw new ApiError(
    "wrong_state",
    `The team ${team.name} has ${limit} tasks (jobs with a cron expression or a start time), its quota (max_tasks, MILLRACE_TEAM_TASKS). Cancel tasks that are no longer needed, or ask an administrator of the server for more.`,
    { hint: "list_tasks" },
  );
}

/** Refuses a schedule too many. Ask inside the write that adds it. */
export async function requireRoomForSchedule(db: Db, team: NamedTeam, defaults: TaskQuotas): Promise<void> {
  const limit = (await quotasOf(db, team.id))?.max_schedules ?? defaults.schedules;
  if (await hasRoom(db, team, limit, atLeastSchedules)) return;
  throw new ApiError(
    "wrong_state",
    `The team ${team.name} has ${limit} schedules, its quota (max_schedules, MILLRACE_TEAM_SCHEDULES). Delete schedules that are over or no longer needed, or ask an administrator of the server for more.`,
    { hint: "list_schedules" },
  );
}

/** Counted one writer after another: on PostgreSQL two would otherwise not see what the other adds. */
async function hasRoom(db: Db, { id }: NamedTeam, limit: number, atLeast: typeof atLeastTasks): Promise<boolean> {
  if (limit === 0) return true;
  await lockTeam(db, id);
  return !(await atLeast(db, id, limit));
}
