/** Owners of schedules, and a warning if a schedule runs jobs as a user who may no longer run them. */
import type { PipelineScheduleItem } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { usersByIds } from "../../store/queries/people/users.ts";
import { makersOfRuns } from "../../store/queries/people/work.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { type Absence, absencesIn } from "../access/absence.ts";
import { readRunAs, runsAs } from "../lifecycle/run-as.ts";

/** The fields of a schedule about its creator and its owner. */
export type Owned = Pick<PipelineScheduleItem, "created_by" | "owner" | "owner_problem">;

/**
 * Returns a function that takes a schedule of the team and returns its creator, its owner, and why the owner cannot run
 * jobs.
 */
export async function ownersOf(
  db: Db,
  teamId: number,
  rows: readonly ScheduleRow[],
): Promise<(row: ScheduleRow) => Owned> {
  const problems = await problemsOf(db, teamId, rows);
  const ids = rows.flatMap(({ user_id, created_by }) => [user_id, created_by ?? user_id]);
  const found = ids.length === 0 ? [] : await usersByIds(db, [...new Set(ids)]);
  const users = new Map(found.map((user) => [user.id, user]));
  const nameOf = (id: number) => {
    const { username = "", first_name = "", last_name = "" } = users.get(id) ?? {};
    return { username, first_name, last_name };
  };
  return ({ id, user_id, created_by }) => ({
    created_by: nameOf(created_by ?? user_id),
    owner: { ...nameOf(user_id), service_account: users.get(user_id)?.service_team_id != null },
    owner_problem: problems.get(id) ?? null,
  });
}

/** Number of templates in one query. It is small, since each template may have thousands of runs. */
const lookedUp = 4;

/** Returns why no run of a schedule can begin, by the id of the schedule. Schedules without a problem are left out. */
async function problemsOf(
  db: Db,
  teamId: number,
  rows: readonly Pick<ScheduleRow, "id" | "name" | "pipeline_id">[],
): Promise<Map<number, string>> {
  const problems = new Map<number, string>();
  for (let at = 0; at < rows.length; at += lookedUp) {
    if (at > 0) await nextLook();
    const part = rows.slice(at, at + lookedUp);
    const runs = await makersOfRuns(
      db,
      part.map(({ pipeline_id }) => pipeline_id),
    );
    const users = runs.map((run) => ({ pipelineId: run.id, userId: runsAs(readRunAs(run), run.user_id) }));
    const absences = await absencesIn(
      db,
      teamId,
      users.map(({ userId }) => userId),
    );
    for (const { id, pipeline_id } of part) {
      const absent = users.find(({ pipelineId, userId }) => pipelineId === pipeline_id && absences.has(userId));
      if (absent) problems.set(id, problemText(absences.get(absent.userId) as Absence));
    }
  }
  return problems;
}

const problemText = ({ username, why }: Absence) =>
  `The schedule runs jobs as ${username}, who ${why}: every run will fail. Give the schedule another owner.`;
