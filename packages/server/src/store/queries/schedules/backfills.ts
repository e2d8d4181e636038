/** Queries on backfills and their moments, which are the scheduled times that a backfill runs a pipeline for. */
import { isUnfinished, type PipelineStatus } from "@millrace/contract";
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";
import { beginning } from "../short-texts.ts";

export type BackfillRow = Selectable<Tables["backfills"]>;

/** Inserts a backfill with its moments (scheduled times) in order. Returns its id. */
export async function insertBackfill(
  db: Db,
  row: Insertable<Tables["backfills"]>,
  moments: readonly string[],
): Promise<number> {
  const { id } = await db.insertInto("backfills").values(row).returning("id").executeTakeFirstOrThrow();
  const rows = moments.map((moment, position) => ({ backfill_id: id, position, moment, pipeline_id: null }));
  await eachPart(rows, (part) => db.insertInto("backfill_moments").values(part).execute());
  return id;
}

export const findBackfill = (db: Db, teamId: number, id: number): Promise<BackfillRow | undefined> =>
  db.selectFrom("backfills").selectAll().where("id", "=", id).where("team_id", "=", teamId).executeTakeFirst();

/** Lists a team's backfills, newest first, with ids below `before`. */
export function listBackfills(
  db: Db,
  teamId: number,
  before: number | undefined,
  limit: number,
): Promise<BackfillRow[]> {
  const query = db.selectFrom("backfills").selectAll().where("team_id", "=", teamId).orderBy("id", "desc").limit(limit);
  return (before === undefined ? query : query.where("id", "<", before)).execute();
}

/** Reads a backfill and locks its row until the write ends. SQLite has only one writer and needs no lock. */
export const lockBackfill = (db: Db, id: number): Promise<BackfillRow | undefined> => {
  const query = db.selectFrom("backfills").selectAll().where("id", "=", id);
  return (isPostgres(db) ? query.forUpdate() : query).executeTakeFirst();
};

export const updateBackfill = (db: Db, id: number, changes: Updateable<Tables["backfills"]>) =>
  db.updateTable("backfills").set(changes).where("id", "=", id).execute();

const running = prepared<Record<string, never>>()((db) =>
  db.selectFrom("backfills").select(["id", "team_id"]).where("status", "=", "RUNNING").orderBy("id"),
);
/** Lists all running backfills; each team has only a few. */
export const runningBackfills = async (db: Db) => (await running(db, {})).rows;

export const runningBackfillsOf = async (db: Db, teamId: number): Promise<number> => {
  const query = db.selectFrom("backfills").select("id").where("team_id", "=", teamId).where("status", "=", "RUNNING");
  return (await query.execute()).length;
};

export interface MomentRow {
  readonly position: number;
  readonly moment: string;
  readonly pipeline_id: string | null;
  /** Status of the newest pipeline for this moment (scheduled time); null if the moment has no pipeline yet. */
  readonly status: PipelineStatus | null;
  readonly name: string | null;
  /** Beginning of the pipeline's error message. */
  readonly error_message: string | null;
  /** Number of the pipeline's jobs that have not ended; a failed pipeline may still have some. */
  readonly open_runs: number | null;
}

/**
 * Maximum number of characters of an error message for one moment (scheduled time). It is small, because a backfill may
 * have a thousand moments.
 */
export const mostReason = 300;

const moments = prepared<{ id: number }>()((db, value) =>
  db
    .selectFrom("backfill_moments")
    .leftJoin("pipelines", "pipelines.id", "backfill_moments.pipeline_id")
    .select(["position", "moment", "pipeline_id"])
    .select(["pipelines.status", "pipelines.name", "pipelines.open_runs"])
    .select(beginning<string | null>("pipelines.error_message", mostReason).as("error_message"))
    .where("backfill_id", "=", value("id"))
    .orderBy("position"),
);
export const momentsOf = async (db: Db, id: number): Promise<MomentRow[]> => (await moments(db, { id })).rows;

const open = sql<number>`case when pipelines.open_runs > 0 then 1 else 0 end`;

const counted = prepared<{ id: number }>()((db, value) =>
  db
    .selectFrom("backfill_moments")
    .leftJoin("pipelines", "pipelines.id", "backfill_moments.pipeline_id")
    .select((eb) => ["pipelines.status", open.as("open"), eb.fn.countAll<number>().as("count")])
    .where("backfill_id", "=", value("id"))
    .groupBy(["pipelines.status", open]),
);

export interface MomentCounts {
  readonly waiting: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
}

/**
 * Counts the moments (scheduled times) of a backfill by state. A failed pipeline counts as running while it has jobs
 * that have not ended.
 */
export async function countMoments(db: Db, id: number): Promise<MomentCounts> {
  const counts = { waiting: 0, running: 0, completed: 0, failed: 0 };
  for (const { status, open, count } of (await counted(db, { id })).rows)
    counts[stateOf(status, open)] += Number(count);
  return counts;
}

export function stateOf(status: PipelineStatus | null, open: number | null): keyof MomentCounts {
  if (status === null) return "waiting";
  if (isUnfinished(status) || (open ?? 0) > 0) return "running";
  return status === "COMPLETED" ? "completed" : "failed";
}

const unfinished = prepared<{ id: number }>()((db, value) =>
  db
    .selectFrom("backfill_moments")
    .innerJoin("pipelines", "pipelines.id", "backfill_moments.pipeline_id")
    .select("pipelines.id")
    .where("backfill_id", "=", value("id"))
    .where("pipelines.status", "in", ["RUNNING", "PAUSED"])
    .orderBy("position")
    .limit(1),
);
/** Returns the first pipeline of a backfill that has not ended; undefined if there is none. */
export const unfinishedRun = async (db: Db, id: number) => (await unfinished(db, { id })).rows[0]?.id;

const next = prepared<{ id: number }>()((db, value) =>
  db
    .selectFrom("backfill_moments")
    .select(["position", "moment"])
    .where("backfill_id", "=", value("id"))
    .where("pipeline_id", "is", null)
    .orderBy("position")
    .limit(1),
);
/** Returns the first moment (scheduled time) of a backfill that has no pipeline yet; undefined if there is none. */
export const nextMoment = async (db: Db, id: number) => (await next(db, { id })).rows[0];

/**
 * Assigns a pipeline to a moment (scheduled time) of a backfill. Returns false if the moment already has a pipeline.
 */
export async function takeMoment(db: Db, id: number, position: number, pipelineId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("backfill_moments")
    .set({ pipeline_id: pipelineId })
    .where("backfill_id", "=", id)
    .where("position", "=", position)
    .where("pipeline_id", "is", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Detaches the pipelines of these moments (scheduled times), so that the backfill starts a new pipeline for each. */
export const giveBackMoments = (db: Db, id: number, positions: readonly number[]) =>
  eachPart(positions, (part) =>
    db
      .updateTable("backfill_moments")
      .set({ pipeline_id: null })
      .where("backfill_id", "=", id)
      .where("position", "in", part)
      .execute(),
  );
