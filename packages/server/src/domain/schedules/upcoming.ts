/**
 * The next firings of schedules and tasks, in one list ordered by time. Each call reads at most one page of schedules
 * and one page of tasks.
 */
import { invalid, type Upcoming } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { nextSchedules } from "../../store/queries/schedules/schedules.ts";
import { nextTasks } from "../../store/queries/schedules/tasks.ts";
import type { Team } from "../access/principals.ts";
import { runAfter, type ScheduleTimes } from "./schedule-times.ts";
import { taskTimes } from "./tasks.ts";

/** Which page of the list to return. */
interface Asked {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly withSchedules: boolean;
}

interface UpcomingItems {
  readonly items: Upcoming[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** Returns the schedules and tasks that fire next, ordered by time. */
export async function upcomingOf(db: Db, team: Team, { limit, cursor, withSchedules }: Asked): Promise<UpcomingItems> {
  const after = readCursor(cursor);
  const schedules = withSchedules ? await nextSchedules(db, team.id, after.schedule, limit + 1) : [];
  const tasks = await nextTasks(db, team.id, after.task, limit + 1);
  const found = [
    ...schedules.map(({ id, name, next_run, ...times }) =>
      itemOf({ kind: "schedule", id: String(id), name, at: next_run }, times),
    ),
    ...tasks.map((task) =>
      itemOf({ kind: "task", id: task.job_id, name: task.name, at: task.next_run }, taskTimes(task)),
    ),
  ];
  // The sort is stable: at the same time schedules come before tasks, each kind in the order of its query.
  const items = found.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last ? `${last.at}~${last.kind}~${last.id}` : undefined };
}

type Firing = Pick<Upcoming, "kind" | "id" | "name" | "at">;

const itemOf = ({ at, kind, id, name }: Firing, times: ScheduleTimes): Upcoming => ({
  at,
  following: runAfter(times, Date.parse(at)),
  kind,
  id,
  name,
  cron_expression: times.cron_expression,
  timezone: times.timezone,
});

/**
 * Parses a cursor. Schedules come before tasks of the same time. So if the cursor is at a task, all schedules of that
 * time were already listed.
 */
function readCursor(cursor: string | undefined) {
  const start = { schedule: { next_run: "", id: 0 }, task: { next_run: "", job_id: "" } };
  if (cursor === undefined) return start;
  const [, at = "", schedule, task] =
    /^([\d:.TZ-]{24})~(?:schedule~(\d{1,9})|task~([0-9a-f-]{36}))$/.exec(cursor) ?? [];
  if (schedule) return { schedule: { next_run: at, id: Number(schedule) }, task: { next_run: at, job_id: "" } };
  if (task) return { schedule: { next_run: at, id: mostId }, task: { next_run: at, job_id: task } };
  throw invalid("cursor", "the x-next-cursor of the previous page", cursor);
}

const mostId = 2_147_483_647;
