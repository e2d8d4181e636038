/** Queries on pipelines, their runs, and the edges between runs. */
import { type JobStatus, type PipelineStatus, pipelineTransitions } from "@millrace/contract";
import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import { noteChange } from "../../drivers/noted-store.ts";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart, nextTurn } from "../batches.ts";
import { heardPipeline, notePipelines } from "../events/outbox.ts";

export type PipelineRow = Selectable<Tables["pipelines"]>;
export type RunRow = Selectable<Tables["pipeline_runs"]>;
export type EdgeRow = Selectable<Tables["pipeline_edges"]>;

/** Inserts a pipeline. Returns false if the name is taken. */
export async function insertPipeline(db: Db, row: Insertable<Tables["pipelines"]>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("pipelines")
    .values(row)
    .onConflict((c) => c.columns(["team_id", "name"]).doNothing())
    .executeTakeFirst();
  noteChange(db, "pipelines", row.team_id, row.id);
  return numInsertedOrUpdatedRows === 1n;
}

const byId = prepared<{ id: string }>()((db, value) =>
  db.selectFrom("pipelines").selectAll().where("id", "=", value("id")),
);
export const getPipeline = async (db: Db, id: string): Promise<PipelineRow | undefined> =>
  (await byId(db, { id })).rows[0];

const byName = prepared<{ teamId: number; name: string }>()((db, value) =>
  db.selectFrom("pipelines").selectAll().where("team_id", "=", value("teamId")).where("name", "=", value("name")),
);
export const findPipeline = async (db: Db, teamId: number, name: string): Promise<PipelineRow | undefined> =>
  (await byName(db, { teamId, name })).rows[0];

/** Pipelines per statement. */
const readAtOnce = 500;

/**
 * Lists the pipelines that a schedule started and that have this status, oldest first. It reads them in pages with
 * pauses, because a schedule with overlapping runs may have any number of them.
 */
export async function pipelinesOfSchedule(db: Db, scheduleId: number, status: PipelineStatus) {
  const found: Pick<PipelineRow, "id" | "name">[] = [];
  for (let after = ""; ; ) {
    const rows = await db
      .selectFrom("pipelines")
      .select(["id", "name"])
      .where("schedule_id", "=", scheduleId)
      .where("is_template", "=", 0)
      .where("status", "=", status)
      .where("id", ">", after)
      .orderBy("id")
      .limit(readAtOnce)
      .execute();
    for (const row of rows) found.push(row);
    if (rows.length < readAtOnce) return found;
    after = rows.at(-1)?.id ?? "";
    await nextTurn();
  }
}

/**
 * Reads a pipeline and locks its row until the write ends, so that nobody else changes it or its runs. A write locks
 * pipelines before it touches the queue, attempts or jobs: ARCHITECTURE.md has the order. SQLite has only one writer and
 * needs no lock.
 */
export const lockPipeline = (db: Db, id: string): Promise<PipelineRow> => {
  const query = db.selectFrom("pipelines").selectAll().where("id", "=", id);
  return (isPostgres(db) ? query.forNoKeyUpdate() : query).executeTakeFirstOrThrow();
};

/**
 * Locks several pipelines in the order of their ids, so that two writes that lock the same pipelines cannot deadlock.
 */
export async function lockPipelines(db: Db, ids: readonly string[]): Promise<void> {
  if (!isPostgres(db)) return;
  const query = (part: readonly string[]) =>
    db.selectFrom("pipelines").select("id").where("id", "in", part).orderBy("id").forNoKeyUpdate().execute();
  await eachPart([...new Set(ids)].sort(), query);
}

/**
 * Locks the pipelines whose runs include one of these jobs. A write that may end a job must call this function first.
 */
export async function lockPipelinesOf(db: Db, jobIds: readonly string[]): Promise<void> {
  if (!isPostgres(db)) return;
  const ids: string[] = [];
  await eachPart(jobIds, async (part) => {
    const query = db.selectFrom("jobs").select("pipeline_id").distinct().where("id", "in", part);
    for (const { pipeline_id } of await query.execute()) if (pipeline_id !== null) ids.push(pipeline_id);
  });
  await lockPipelines(db, ids);
}

export interface PipelineMove {
  readonly id: string;
  readonly from: readonly PipelineStatus[];
  readonly to: PipelineStatus;
  readonly changes: Updateable<Tables["pipelines"]>;
}

/**
 * Changes the status of a pipeline; no other function may do so. Allows only the transitions in the contract. Returns
 * false if the pipeline was in none of the `from` states.
 */
export async function movePipeline(db: Db, { id, from, to, changes }: PipelineMove): Promise<boolean> {
  for (const state of from) {
    if (!(pipelineTransitions[state] as readonly PipelineStatus[]).includes(to))
      throw new Error(`a pipeline cannot change from ${state} to ${to}`);
  }
  const moved = await db
    .updateTable("pipelines")
    .set({ ...changes, status: to })
    .where("id", "=", id)
    .where("status", "in", from)
    .returning(heardPipeline)
    .execute();
  await notePipelines(db, moved);
  return moved.length === 1;
}

export const updatePipeline = (db: Db, id: string, changes: Updateable<Omit<Tables["pipelines"], "status">>) =>
  db.updateTable("pipelines").set(changes).where("id", "=", id).execute();

export async function insertRuns(db: Db, runs: readonly RunRow[], edges: readonly EdgeRow[]): Promise<void> {
  await eachPart(runs, (part) => db.insertInto("pipeline_runs").values(part).execute());
  await eachPart(edges, (part) => db.insertInto("pipeline_edges").values(part).execute());
}

/**
 * A run of a pipeline with the state of its job. In a template pipeline, whose runs have no jobs, the columns of the
 * job are null.
 */
export interface RunState extends RunRow {
  readonly status: JobStatus | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

const allRuns = prepared<{ pipelineId: string }>()((db, value) =>
  db
    .selectFrom("pipeline_runs")
    .leftJoin("jobs", "jobs.id", "pipeline_runs.created_job_id")
    .selectAll("pipeline_runs")
    .select(["jobs.status", "jobs.started_at", "jobs.finished_at"])
    .where("pipeline_runs.pipeline_id", "=", value("pipelineId"))
    .orderBy("position"),
);
/** Lists the runs of a pipeline, parents before children. */
export const runsOf = async (db: Db, pipelineId: string): Promise<RunState[]> =>
  (await allRuns(db, { pipelineId })).rows;

const runsWithJob = prepared<{ pipelineId: string; jobId: string }>()((db, value) =>
  db
    .selectFrom("pipeline_runs")
    .leftJoin("jobs", "jobs.id", "pipeline_runs.created_job_id")
    .selectAll("pipeline_runs")
    .select(["jobs.status", "jobs.started_at", "jobs.finished_at"])
    .where("pipeline_runs.pipeline_id", "=", value("pipelineId"))
    .where((eb) =>
      eb.or([eb("pipeline_runs.created_job_id", "=", value("jobId")), eb("pipeline_runs.job_id", "=", value("jobId"))]),
    ),
);
/** Returns the run whose own job has this id, or else the one that repeats the job with this id. */
export async function findRun(db: Db, pipelineId: string, jobId: string): Promise<RunState | undefined> {
  const { rows } = await runsWithJob(db, { pipelineId, jobId });
  return rows.find(({ created_job_id }) => created_job_id === jobId) ?? rows[0];
}

const allEdges = prepared<{ pipelineId: string }>()((db, value) =>
  db.selectFrom("pipeline_edges").select(["job_id", "parent_job_id"]).where("pipeline_id", "=", value("pipelineId")),
);
export const edgesOf = async (db: Db, pipelineId: string): Promise<Omit<EdgeRow, "pipeline_id">[]> =>
  (await allEdges(db, { pipelineId })).rows;

/** The number of edges of a pipeline, and how many of them lead to and from one of its runs. */
interface EdgeCounts {
  readonly all: number;
  readonly above: number;
  readonly below: number;
}

const edgeCounts = prepared<{ pipelineId: string; jobId: string }>()((db, value) => {
  const edges = db
    .selectFrom("pipeline_edges")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("pipeline_id", "=", value("pipelineId"));
  return db.selectNoFrom([
    edges.as("all"),
    edges.where("job_id", "=", value("jobId")).as("above"),
    edges.where("parent_job_id", "=", value("jobId")).as("below"),
  ]);
});
export async function countEdges(db: Db, { pipeline_id, job_id }: RunRow): Promise<EdgeCounts> {
  const [row] = (await edgeCounts(db, { pipelineId: pipeline_id, jobId: job_id })).rows;
  return { all: Number(row?.all), above: Number(row?.above), below: Number(row?.below) };
}

const ended = prepared<{ id: string; now: string }>()((db, value) =>
  db
    .updateTable("pipelines")
    .set((eb) => ({ open_runs: eb("open_runs", "-", 1), updated_at: value("now") }))
    .where("id", "=", value("id"))
    .returningAll(),
);
/**
 * Decrements the number of runs that have not ended, and returns the pipeline. If two runs end at the same time, the
 * second write sees the changes of the first.
 */
export const countEndedRun = async (db: Db, id: string, now: string): Promise<PipelineRow | undefined> =>
  (await ended(db, { id, now })).rows[0];

const released = prepared<{ pipelineId: string; createdJobId: string }>()((db, value) =>
  db
    .updateTable("pipeline_runs")
    .set((eb) => ({ waits_for: eb("waits_for", "-", 1) }))
    .where("pipeline_id", "=", value("pipelineId"))
    .where("job_id", "in", (eb) =>
      eb
        .selectFrom("pipeline_edges")
        .select("pipeline_edges.job_id")
        .where("pipeline_edges.pipeline_id", "=", value("pipelineId"))
        .where("parent_job_id", "=", (parent) =>
          parent
            .selectFrom("pipeline_runs as parent")
            .select("parent.job_id")
            .where("parent.created_job_id", "=", value("createdJobId")),
        ),
    )
    .returning(["created_job_id", "waits_for"]),
);
/**
 * Decrements the number of open parents of each child of a completed run. Returns the jobs of the children that have no
 * open parents left.
 */
export async function releaseChildren(db: Db, pipelineId: string, createdJobId: string): Promise<string[]> {
  const { rows } = await released(db, { pipelineId, createdJobId });
  return rows.flatMap(({ created_job_id, waits_for }) => (waits_for === 0 && created_job_id ? [created_job_id] : []));
}

/** Sets how many parents each run of a pipeline waits for. The keys of `waits` are the jobs that the runs repeat. */
export const setWaitsFor = (db: Db, pipelineId: string, waits: ReadonlyMap<string, number>): Promise<void> =>
  eachPart([...waits], (part) => {
    const rows = part.map(([jobId, count]) => sql`(${jobId}, cast(${count} as integer))`);
    return sql`with fresh (job, waits) as (values ${sql.join(rows)})
      update pipeline_runs set waits_for = waits from fresh where pipeline_id = ${pipelineId} and job_id = job`.execute(
      db,
    );
  });

/** Assigns other jobs to runs of a pipeline. `drafts` maps the job that a run repeats to the run's new job. */
export const replaceDrafts = (db: Db, pipelineId: string, drafts: ReadonlyMap<string, string>): Promise<void> =>
  eachPart([...drafts], (part) => {
    const rows = part.map(([jobId, draft]) => sql`(${jobId}, ${draft})`);
    return sql`with fresh (job, draft) as (values ${sql.join(rows)})
      update pipeline_runs set created_job_id = draft from fresh
      where pipeline_id = ${pipelineId} and job_id = job`.execute(db);
  });

/**
 * Counts again how many parents these runs wait for: those that are not complete. `jobIds` are the jobs that the runs
 * repeat.
 */
const recountWaits = (db: Db, pipelineId: string, jobIds: readonly string[]): Promise<void> =>
  eachPart(jobIds, (part) =>
    db
      .updateTable("pipeline_runs")
      .set((eb) => ({
        waits_for: eb
          .selectFrom("pipeline_edges")
          .innerJoin("pipeline_runs as parent", (join) =>
            join
              .onRef("parent.pipeline_id", "=", "pipeline_edges.pipeline_id")
              .onRef("parent.job_id", "=", "pipeline_edges.parent_job_id"),
          )
          .leftJoin("jobs", "jobs.id", "parent.created_job_id")
          .select((of) => of.fn.countAll<number>().as("count"))
          .whereRef("pipeline_edges.pipeline_id", "=", "pipeline_runs.pipeline_id")
          .whereRef("pipeline_edges.job_id", "=", "pipeline_runs.job_id")
          .where((of) => of.or([of("jobs.status", "is", null), of("jobs.status", "!=", "COMPLETE")])),
      }))
      .where("pipeline_id", "=", pipelineId)
      .where("job_id", "in", part)
      .execute(),
  );

/** Deletes a run; its children become children of its parents, and wait for those that are not complete. */
export async function deleteRun(db: Db, { pipeline_id, job_id }: RunRow): Promise<void> {
  const children = await db
    .selectFrom("pipeline_edges")
    .select("job_id")
    .where("pipeline_id", "=", pipeline_id)
    .where("parent_job_id", "=", job_id)
    .execute();
  const inherited = db
    .selectFrom("pipeline_edges as below")
    .innerJoin("pipeline_edges as above", (join) =>
      join.onRef("above.pipeline_id", "=", "below.pipeline_id").onRef("above.job_id", "=", "below.parent_job_id"),
    )
    .select(["below.pipeline_id", "below.job_id", "above.parent_job_id"])
    .where("below.pipeline_id", "=", pipeline_id)
    .where("below.parent_job_id", "=", job_id);
  await db
    .insertInto("pipeline_edges")
    .columns(["pipeline_id", "job_id", "parent_job_id"])
    .expression(inherited)
    .onConflict((c) => c.doNothing())
    .execute();
  await db
    .deleteFrom("pipeline_edges")
    .where("pipeline_id", "=", pipeline_id)
    .where((eb) => eb.or([eb("job_id", "=", job_id), eb("parent_job_id", "=", job_id)]))
    .execute();
  await db.deleteFrom("pipeline_runs").where("pipeline_id", "=", pipeline_id).where("job_id", "=", job_id).execute();
  const ids = children.map((child) => child.job_id);
  await recountWaits(db, pipeline_id, ids);
}

/** Returns the id of the schedule that fired the pipeline; null if none did. */
export const scheduleOf = async (db: Db, id: string): Promise<number | null> =>
  (await db.selectFrom("pipelines").select("schedule_id").where("id", "=", id).executeTakeFirst())?.schedule_id ?? null;

const scheduleName = prepared<{ id: number }>()((db, value) =>
  db.selectFrom("schedules").select("name").where("id", "=", value("id")),
);
/** Returns the name of a schedule; null if it was deleted. */
export const scheduleNameOf = async (db: Db, id: number): Promise<string | null> =>
  (await scheduleName(db, { id })).rows[0]?.name ?? null;

/** Replaces the graph of a template pipeline, whose runs have no jobs yet. */
export async function replaceRuns(
  db: Db,
  id: string,
  runs: readonly RunRow[],
  edges: readonly EdgeRow[],
): Promise<void> {
  await deleteRuns(db, id);
  await insertRuns(db, runs, edges);
}

async function deleteRuns(db: Db, id: string): Promise<void> {
  await db.deleteFrom("pipeline_edges").where("pipeline_id", "=", id).execute();
  await db.deleteFrom("pipeline_runs").where("pipeline_id", "=", id).execute();
}

/** Deletes a template pipeline. Other pipelines are never deleted, because their jobs refer to them. */
export async function deleteTemplate(db: Db, id: string): Promise<void> {
  await deleteRuns(db, id);
  await db.deleteFrom("pipelines").where("id", "=", id).where("is_template", "=", 1).execute();
}
