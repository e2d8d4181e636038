/** What fires next, schedules and tasks together: as many of each are read as are told, whatever there is. */
import { invalid, type Upcoming } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { nextSchedules } from "../../store/queries/schedules/schedules.ts";
import { nextTasks } from "../../store/queries/schedules/tasks.ts";
import type { Team } from "../access/principals.ts";
import { runAfter, type ScheduleTimes } from "./schedule-times.ts";
import { taskTimes } from "./tasks.ts";

interface Asked {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly withSchedules: boolean;
}

interface UpcomingItems {
  readonly items: Upcoming[];
  /** Where to go on; undefined: nothing follows. */
  readonly next: string | undefined;
}

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
  // Stable: at one moment schedules come first, each kind in the order in which it was read.
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

/** Schedules come before tasks of the same moment: after a task there is none of that moment left. */
function readCursor(cursor: string | undefined) {
  const start = { schedule: { next_run: "", id: 0 }, task: { next_run: "", job_id: "" } };
  if (cursor === undefined) return start;
  const [, at = "", schedule, task] =
    /^([\d:.TZ-]{24})~(?:schedule~(\d{1,9})|task~([0-9a-f-]{36}))$/.exec(cursor) ?? [];
  if (schedule) return { schedule: { next_run: at, id: Number(schedule) }, task: { next_run: at, job_id: "" } };
  if (task) return { schedule: { next_run: at, id: mostId }, task: { next_run: at, job_id: task } };
  throw invalid("cursor", "the x-next-cursor of the page before", cursor);
}

const mostId = 2_147_483_647;
