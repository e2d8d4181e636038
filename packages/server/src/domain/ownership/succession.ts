/** Somebody leaves: all that runs in their name, in a team or everywhere, is shown, and handed over to one other user. */
import { ApiError, type Work } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { findUser, lockUsers, type UserRow } from "../../store/queries/people/users.ts";
import { pipelinesOf, schedulesOf, type Whose } from "../../store/queries/people/work.ts";
import { lockPipeline, lockPipelines, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { lockSchedule, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { setTaskRunAs } from "../../store/queries/schedules/tasks.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Principal } from "../access/principals.ts";
import { isLive } from "../lifecycle/pipeline-progress.ts";
import { readRunAs, succeed } from "../lifecycle/run-as.ts";
import { requireNewOwner, requireSets, setRunAs } from "./new-owner.ts";
import { describeWork, type FoundWork, findWork, namedBy } from "./work.ts";

type Leaver = Pick<UserRow, "id" | "username">;

/** Who hands over to whom. */
export interface Handover {
  readonly principal: Principal;
  readonly actor: Actor;
  readonly to: string;
  /** Also where the new owner lacks credentials. */
  readonly force: boolean;
}

async function newOwnerOf(db: Db, leaver: Leaver, username: string): Promise<UserRow> {
  const to = await findUser(db, username);
  if (!to) throw new ApiError("not_found", `There is no user ${username}.`);
  if (to.id === leaver.id) throw new ApiError("invalid", "transfer_to: expected somebody else than who leaves");
  return to;
}

/** In every team where something is handed over. Where a team's admin asks, it is that team alone. */
async function requireOwnerOfAll(db: Db, found: FoundWork, principal: Principal, to: UserRow): Promise<void> {
  const { tasks, schedules, pipelines } = found;
  const rows = [...tasks, ...schedules.map(({ row }) => row), ...pipelines.map(({ row }) => row)];
  for (const id of new Set(rows.map(({ team_id }) => team_id)))
    await requireNewOwner(db, { id, name: await teamNameOf(db, id), role: "admin" }, principal, to);
}

/** What runs in somebody's name; and whether the user who is named, if any, could take it over. */
export async function readWork(
  db: Db,
  principal: Principal,
  leaver: Leaver,
  teamId: number | undefined,
  to: string | undefined,
  now: number,
): Promise<Work> {
  const whose: Whose = { userId: leaver.id, teamId };
  const found = await findWork(db, whose);
  const owner = to === undefined ? undefined : await newOwnerOf(db, leaver, to);
  const refusal = owner && (await refusalOf(() => requireOwnerOfAll(db, found, principal, owner)));
  return { ...(await describeWork(db, whose, found, owner?.id, now)), transfer_refused: refusal ?? null };
}

async function refusalOf(ask: () => Promise<void>): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** Inside the write in which they leave: looked at anew, since more may run than they were shown. */
export async function handOverWork(
  db: Db,
  handover: Handover,
  leaver: Leaver,
  teamId: number | undefined,
  now: number,
): Promise<void> {
  const { id } = await newOwnerOf(db, leaver, handover.to);
  const whose: Whose = { userId: leaver.id, teamId };
  const held = await holdWork(db, whose);
  await lockUsers(db, [leaver.id, id]);
  const to = await newOwnerOf(db, leaver, handover.to);
  const found = await findWork(db, whose);
  if (![...found.pipelines, ...found.schedules].every(({ row }) => held.has(row.id)))
    throw new WriteAgain("more began to run in the name of the user before the user could be locked");
  await requireOwnerOfAll(db, found, handover.principal, to);
  await requireSets(db, to, namedBy(found), handover.force);
  const change: Change = { ...handover, from: leaver, owner: to, now };
  await handOverSchedules(db, change, found);
  await handOverPipelines(db, change, found);
  await handOverTasks(db, change, found);
}

/** Locks the pipelines and schedules of a user, which everybody else locks before users. Returns their ids. */
async function holdWork(db: Db, whose: Whose): Promise<ReadonlySet<string | number>> {
  const pipelines = await pipelinesOf(db, whose);
  await lockPipelines(
    db,
    pipelines.map(({ id }) => id),
  );
  const schedules = await schedulesOf(db, whose);
  for (const { id } of schedules) await lockSchedule(db, id);
  await lockPipelines(
    db,
    schedules.map(({ pipeline_id }) => pipeline_id),
  );
  return new Set([...pipelines, ...schedules].map(({ id }) => id));
}

interface Change extends Handover {
  readonly from: Leaver;
  readonly owner: UserRow;
  readonly now: number;
}

const note = (db: Db, { actor, from, owner, now }: Change, noun: string, teamId: number, target: string) =>
  audit(
    db,
    actor,
    { action: `${noun}.hand-over`, team: { id: teamId }, target, detail: `${from.username} to ${owner.username}` },
    now,
  );

async function handOverSchedules(db: Db, change: Change, { schedules }: FoundWork): Promise<void> {
  const { from, owner, now } = change;
  for (const { row: found, runs } of schedules) {
    const row = await lockSchedule(db, found.id);
    if (!row) continue;
    const template = await lockPipeline(db, row.pipeline_id);
    if (runs > 0) await setRunAs(db, template, succeed(readRunAs(template), from.id, owner.id), now);
    if (row.user_id === from.id) {
      await updatePipeline(db, template.id, { user_id: owner.id });
      await updateSchedule(db, row.id, { user_id: owner.id, created_by: row.created_by ?? row.user_id });
    }
    await note(db, change, "schedule", row.team_id, row.name);
  }
}

async function handOverPipelines(db: Db, change: Change, { pipelines }: FoundWork): Promise<void> {
  const { from, owner, now } = change;
  for (const { row: found } of pipelines) {
    // Looked at again: while it was waited for it may have ended.
    const row = await lockPipeline(db, found.id);
    if (!isLive(row)) continue;
    await setRunAs(db, row, succeed(readRunAs(row), from.id, owner.id), now);
    await note(db, change, "pipeline", row.team_id, row.name);
  }
}

async function handOverTasks(db: Db, change: Change, { tasks }: FoundWork): Promise<void> {
  const { from, owner } = change;
  for (const task of tasks) {
    const runAs = succeed(readRunAs(task), from.id, owner.id);
    if (await setTaskRunAs(db, task.job_id, JSON.stringify(runAs)))
      await note(db, change, "task", task.team_id, task.name ?? task.job_id);
  }
}
