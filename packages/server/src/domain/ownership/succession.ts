/**
 * Lists everything that runs in the name of a user who leaves a team or the server, and hands it over to one other
 * user. Much work is handed over in many short writes before the write in which the user leaves, because on SQLite a
 * long write holds up the writes of all teams, and PostgreSQL ends it. If the server stops in between, the user has not
 * left: what was handed over stays with the new owner, and the same request hands over the rest.
 */
import { ApiError, type Work } from "@millrace/contract";
import { type Db, isPostgres, type Store } from "../../store/drivers/store.ts";
import { WriteAgain } from "../../store/drivers/unavailable.ts";
import { nextTurn } from "../../store/queries/batches.ts";
import { teamNameOf } from "../../store/queries/people/teams.ts";
import { findUser, lockUsers, type UserRow } from "../../store/queries/people/users.ts";
import type { Whose } from "../../store/queries/people/work.ts";
import { nextLook } from "../../turns/large-answers.ts";
import type { Caller } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import type { Principal } from "../access/principals.ts";
import { isLittle, type Leaver, lockWork, moveWork, type Part, partsOf } from "./move-work.ts";
import { requireNewOwner, requireSets } from "./new-owner.ts";
import { describeWork, type FoundWork, findWork, namedBy, ownedPipelines, ownedSchedules } from "./work.ts";

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

/** How a user leaves a team or the server. */
interface Leaving<Row extends Leaver, T> {
  /** Id of the team that the user leaves; undefined if the user leaves the whole server. */
  readonly teamId: number | undefined;
  /** Username of the user who takes over the work; undefined if nobody does. */
  readonly successor: string | undefined;
  readonly force: boolean;
  readonly leaver: (db: Db) => Promise<Row>;
  /** Throws if the user may not leave. Called in a write before much is handed over, and in the one of `leave`. */
  readonly requireMayLeave: (db: Db, row: Row) => Promise<void>;
  /** Removes or disables the user. */
  readonly leave: (edit: Edit, row: Row) => Promise<T>;
}

/** How often work that the user has started during the handover is handed over in parts before the caller is told. */
const mostRounds = 10;

/** Hands over the work of a user, if there is a successor, and then lets the user leave. */
export async function handOverAndLeave<Row extends Leaver, T>(
  store: Store,
  caller: Caller,
  { successor, leaver, requireMayLeave, leave, ...rest }: Leaving<Row, T>,
  now: number,
): Promise<T> {
  for (let round = 1; round <= mostRounds; round++) {
    if (successor !== undefined) {
      const row = await leaver(store.db);
      const mayLeave = () => store.write((db) => requireMayLeave(db, row));
      await handOverMuch(store, { ...caller, now }, { leaver: row, successor, ...rest }, mayLeave);
    }
    const left = await store.write(async (db) => {
      const edit: Edit = { db, actor: caller.actor, now };
      const row = await leaver(db);
      const last = successor === undefined ? undefined : { leaver: row, successor, ...rest };
      if (last && !(await handOverWork(edit, caller.principal, last))) return undefined;
      await requireMayLeave(db, row);
      return { result: await leave(edit, row) };
    });
    if (left) return left.result;
  }
  throw tooFast(await leaver(store.db), rest.teamId);
}

function tooFast({ username }: Leaver, teamId: number | undefined): ApiError {
  const first =
    teamId === undefined ? `Disable ${username} without a successor` : `Make ${username} a viewer of the team`;
  return new ApiError(
    "wrong_state",
    `${username} starts new work faster than it can be handed over. ${first} first, then hand over the rest.`,
  );
}

/** Hands over work in parts, each in a write of its own, if it is too much for the write in which the user leaves. */
async function handOverMuch(
  store: Store,
  { actor, principal, now }: Caller & { readonly now: number },
  handover: Handover,
  requireMayLeave: () => Promise<void>,
): Promise<void> {
  const { db } = store;
  const owner = await newOwnerOf(db, handover.leaver, handover.successor);
  const found = await findWork(db, whoseOf(handover), nextTurn);
  if (isLittle(found)) return;
  await requireOwnerOfAll(db, found, principal, owner);
  await requireSets(db, owner, namedBy(found), handover.force);
  await requireMayLeave();
  for (const part of partsOf(found))
    await store.write((writer) => handOverPart({ db: writer, actor, now }, principal, handover, part));
}

const whoseOf = ({ leaver, teamId }: Departure): Whose => ({ userId: leaver.id, teamId });

async function handOverPart(edit: Edit, principal: Principal, handover: Handover, part: Part): Promise<void> {
  const { db } = edit;
  await lockWork(db, part);
  const owner = await lockOwner(db, handover);
  await requireOwnerOfAll(db, part, principal, owner);
  await moveWork({ ...edit, from: handover.leaver, owner }, part);
}

/** Locks the leaver and the new owner, so that neither leaves during the write, and returns the new owner. */
async function lockOwner(db: Db, { leaver, successor }: Handover): Promise<UserRow> {
  const { id } = await newOwnerOf(db, leaver, successor);
  await lockUsers(db, [leaver.id, id]);
  return newOwnerOf(db, leaver, successor);
}

/**
 * Hands over all work of the leaver. Call it in the transaction that removes or disables the leaver. It searches for
 * the work again, because new work may have started since the last search. Returns false, and changes nothing, if there
 * is too much work for one write.
 */
export async function handOverWork(edit: Edit, principal: Principal, handover: Handover): Promise<boolean> {
  const { db } = edit;
  const whose = whoseOf(handover);
  const held = await holdWork(db, whose);
  const owner = await lockOwner(db, handover);
  const found = await findWork(db, whose, nextTurn);
  if (!isLittle(found)) return false;
  if (held && ![...found.pipelines, ...found.schedules].every(({ row }) => held.has(row.id)))
    throw new WriteAgain("new work of the user started before the user was locked");
  await requireOwnerOfAll(db, found, principal, owner);
  await requireSets(db, owner, namedBy(found), handover.force);
  await moveWork({ ...edit, from: handover.leaver, owner }, found);
  return true;
}

/**
 * Locks the pipelines and schedules of a user, and returns their ids. Every transaction locks pipelines and schedules
 * before users, to avoid deadlocks. SQLite has only one writer, needs no lock, and is spared the search.
 */
async function holdWork(db: Db, whose: Whose): Promise<ReadonlySet<string | number> | undefined> {
  if (!isPostgres(db)) return undefined;
  const pipelines: { readonly row: { readonly id: string } }[] = [];
  for await (const { row } of ownedPipelines(db, whose, nextTurn)) pipelines.push({ row });
  const schedules: { readonly row: { readonly id: number; readonly pipeline_id: string } }[] = [];
  for await (const { row } of ownedSchedules(db, whose, nextTurn)) schedules.push({ row });
  await lockWork(db, { pipelines, schedules });
  return new Set([...pipelines, ...schedules].map(({ row }) => row.id));
}
