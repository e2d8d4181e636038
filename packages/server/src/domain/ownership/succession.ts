/**
 * Lists everything that runs in the name of a user who leaves a team or the server, and hands it over to one other
 * user.
 */
import { ApiError, type Work } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { nextTurn } from "../../store/queries/batches.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { findUser, lockUsers, type UserRow } from "../../store/queries/people/users.ts";
import type { Whose } from "../../store/queries/people/work.ts";
import { lockPipeline, lockPipelines, updatePipeline } from "../../store/queries/pipelines/pipelines.ts";
import { lockSchedule, updateSchedule } from "../../store/queries/schedules/schedules.ts";
import { setTaskRunAs } from "../../store/queries/schedules/tasks.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Principal } from "../access/principals.ts";
import { isLive } from "../lifecycle/pipeline-progress.ts";
import { readRunAs, succeed } from "../lifecycle/run-as.ts";
import { requireNewOwner, requireSets, setRunAs } from "./new-owner.ts";
import { describeWork, type FoundWork, findWork, namedBy, ownedPipelines, ownedSchedules } from "./work.ts";

type Leaver = Pick<UserRow, "id" | "username">;

/** A user who leaves a team or the whole server. */
interface Departure {
  readonly leaver: Leaver;
  /** Id of the team that the user leaves; undefined if the user leaves the whole server. */
  readonly teamId: number | undefined;
  /** Username of the user who takes over the work; undefined while nobody is chosen. */
  readonly successor: string | undefined;
}

/** A departure in which all work of the leaver is handed over to the successor. */
interface Handover extends Departure {
  readonly successor: string;
  /** Whether to hand over even if the successor lacks credentials that the work needs. */
  readonly force: boolean;
}

async function newOwnerOf(db: Db, leaver: Leaver, username: string): Promise<UserRow> {
  const to = await findUser(db, username);
  if (!to) throw new ApiError("not_found", `There is no user ${username}.`);
  if (to.id === leaver.id)
    throw new ApiError("invalid", `transfer_to: expected another user than the one who leaves, got ${username}`);
  return to;
}

/** Throws unless the caller may give work to the user `to` in every team that has some of the found work. */
async function requireOwnerOfAll(db: Db, found: FoundWork, principal: Principal, to: UserRow): Promise<void> {
  const { tasks, schedules, pipelines } = found;
  const rows = [...tasks, ...schedules.map(({ row }) => row), ...pipelines.map(({ row }) => row)];
  for (const id of new Set(rows.map(({ team_id }) => team_id)))
    await requireNewOwner(db, { id, name: await teamNameOf(db, id), role: "admin" }, principal, to);
}

/**
 * Returns the work that runs in the leaver's name. If a successor is named but may not take over the work,
 * `transfer_refused` says why.
 */
export async function readWork(
  db: Db,
  principal: Principal,
  { leaver, teamId, successor }: Departure,
  now: number,
): Promise<Work> {
  const found = await findWork(db, { userId: leaver.id, teamId }, nextLook);
  const owner = successor === undefined ? undefined : await newOwnerOf(db, leaver, successor);
  const refusal = owner && (await refusalOf(() => requireOwnerOfAll(db, found, principal, owner)));
  return { ...(await describeWork(db, found, owner?.id, now)), transfer_refused: refusal ?? null };
}

/** Returns the message of the API error that `ask` throws; undefined if it throws none. */
async function refusalOf(ask: () => Promise<void>): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/**
 * Hands over all work of the leaver. Call it in the transaction that removes or disables the leaver. It searches for
 * the work again, because new work may have started since the work was shown to the caller.
 */
export async function handOverWork(
  edit: Edit,
  principal: Principal,
  { leaver, teamId, successor, force }: Handover,
): Promise<void> {
  const { db } = edit;
  const { id } = await newOwnerOf(db, leaver, successor);
  const whose: Whose = { userId: leaver.id, teamId };
  const held = await holdWork(db, whose);
  await lockUsers(db, [leaver.id, id]);
  const owner = await newOwnerOf(db, leaver, successor);
  const found = await findWork(db, whose, nextTurn);
  if (![...found.pipelines, ...found.schedules].every(({ row }) => held.has(row.id)))
    throw new WriteAgain("new work of the user started before the user was locked");
  await requireOwnerOfAll(db, found, principal, owner);
  await requireSets(db, owner, namedBy(found), force);
  const change: Change = { ...edit, from: leaver, owner };
  await handOverSchedules(change, found);
  await handOverPipelines(change, found);
  await handOverTasks(change, found);
}

/**
 * Locks the pipelines and schedules of a user, and returns their ids. Every transaction locks pipelines and schedules
 * before users, to avoid deadlocks.
 */
async function holdWork(db: Db, whose: Whose): Promise<ReadonlySet<string | number>> {
  const pipelines: string[] = [];
  for await (const { row } of ownedPipelines(db, whose, nextTurn)) pipelines.push(row.id);
  await lockPipelines(db, pipelines);
  const schedules: number[] = [];
  const templates: string[] = [];
  for await (const { row } of ownedSchedules(db, whose, nextTurn)) {
    await lockSchedule(db, row.id);
    schedules.push(row.id);
    templates.push(row.pipeline_id);
  }
  await lockPipelines(db, templates);
  return new Set([...pipelines, ...schedules]);
}

/** A transaction that moves work from one user to another. */
interface Change extends Edit {
  readonly from: Leaver;
  readonly owner: UserRow;
}

/** Writes to the audit log that one schedule, pipeline or task was handed over. */
const note = ({ db, actor, from, owner, now }: Change, noun: string, teamId: number, target: string) =>
  audit(
    db,
    actor,
    { action: `${noun}.hand-over`, team: { id: teamId }, target, detail: `${from.username} to ${owner.username}` },
    now,
  );

async function handOverSchedules(change: Change, { schedules }: FoundWork): Promise<void> {
  const { db, from, owner, now } = change;
  for (const { row: found, runs } of schedules) {
    await nextTurn();
    const row = await lockSchedule(db, found.id);
    if (!row) continue;
    const template = await lockPipeline(db, row.pipeline_id);
    if (runs > 0) await setRunAs(db, template, succeed(readRunAs(template), from.id, owner.id), now);
    if (row.user_id === from.id) {
      await updatePipeline(db, template.id, { user_id: owner.id });
      await updateSchedule(db, row.id, { user_id: owner.id, created_by: row.created_by ?? row.user_id });
    }
    await note(change, "schedule", row.team_id, row.name);
  }
}

async function handOverPipelines(change: Change, { pipelines }: FoundWork): Promise<void> {
  const { db, from, owner, now } = change;
  for (const { row: found } of pipelines) {
    await nextTurn();
    // Reread after the lock was taken: the pipeline may have ended meanwhile.
    const row = await lockPipeline(db, found.id);
    if (!isLive(row)) continue;
    await setRunAs(db, row, succeed(readRunAs(row), from.id, owner.id), now);
    await note(change, "pipeline", row.team_id, row.name);
  }
}

async function handOverTasks(change: Change, { tasks }: FoundWork): Promise<void> {
  const { db, from, owner } = change;
  for (const task of tasks) {
    await nextTurn();
    const runAs = succeed(readRunAs(task), from.id, owner.id);
    if (await setTaskRunAs(db, task.job_id, JSON.stringify(runAs)))
      await note(change, "task", task.team_id, task.name ?? task.job_id);
  }
}
