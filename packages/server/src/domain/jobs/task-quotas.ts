/** Quotas for the number of tasks and schedules of a team. 0 means no limit. */
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { lockTeam, quotasOf } from "../../store/queries/people/teams.ts";
import { atLeastSchedules } from "../../store/queries/schedules/schedules.ts";
import { atLeastTasks } from "../../store/queries/schedules/tasks.ts";
import type { Team } from "../access/principals.ts";

/**
 * Default quotas, for teams without quotas of their own: the maximum number of tasks and of schedules. 0 means no
 * limit.
 */
export interface TaskQuotas {
  readonly tasks: number;
  readonly schedules: number;
}

type NamedTeam = Pick<Team, "id" | "name">;

/** Throws if the team has as many tasks as its quota allows. Call it in the transaction that adds a task. */
export async function requireRoomForTask(db: Db, team: NamedTeam, defaults: TaskQuotas): Promise<void> {
  const limit = (await quotasOf(db, team.id))?.max_tasks ?? defaults.tasks;
  if (await hasRoom(db, team, limit, atLeastTasks)) return;
  throw new ApiError(
    "wrong_state",
    `No further task can be created: the team ${team.name} has ${limit} tasks (jobs with a cron expression or a start time), as many as its quota allows (max_tasks, MILLRACE_TEAM_TASKS). Cancel tasks that are no longer needed, or ask an administrator of the server for more.`,
    { hint: "list_tasks" },
  );
}

/** Throws if the team has as many schedules as its quota allows. Call it in the transaction that adds a schedule. */
export async function requireRoomForSchedule(db: Db, team: NamedTeam, defaults: TaskQuotas): Promise<void> {
  const limit = (await quotasOf(db, team.id))?.max_schedules ?? defaults.schedules;
  if (await hasRoom(db, team, limit, atLeastSchedules)) return;
  throw new ApiError(
    "wrong_state",
    `No further schedule can be created: the team ${team.name} has ${limit} schedules, as many as its quota allows (max_schedules, MILLRACE_TEAM_SCHEDULES). Delete schedules that have ended or are no longer needed, or ask an administrator of the server for more.`,
    { hint: "list_schedules" },
  );
}

/**
 * Returns whether the team is below the limit. The team is locked first, because on PostgreSQL concurrent transactions
 * do not see each other's rows.
 */
async function hasRoom(db: Db, { id }: NamedTeam, limit: number, atLeast: typeof atLeastTasks): Promise<boolean> {
  if (limit === 0) return true;
  await lockTeam(db, id);
  return !(await atLeast(db, id, limit));
}
