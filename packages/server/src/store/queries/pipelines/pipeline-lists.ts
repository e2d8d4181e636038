/**
 * Lists pipelines, newest first. SQLite runs on the server's only thread, so a list with conditions checks them on
 * batches of limited size: a longer statement would block other requests.
 */
import { setImmediate as others } from "node:timers/promises";
import { answerLimits, type PipelineStatus } from "@millrace/contract";
import { sql } from "kysely";
import { stretchesOf } from "../../../turns/large-answers.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import { beginning, ifShort } from "../short-texts.ts";
import type { PipelineRow } from "./pipelines.ts";

export interface PipelineFilter {
  readonly teamId: number;
  readonly statuses: readonly PipelineStatus[] | undefined;
  /** Text to find in the name or in a target dataset, ignoring case. */
  readonly text: string | undefined;
  /** Only pipelines older than this id. */
  readonly before: string | undefined;
  readonly limit: number;
}

/**
 * A pipeline as shown in lists. `environment` and `datasets` are null if they are long. If the settings are long, they
 * are shown without the requirements.
 */
export type ListedPipeline = Omit<PipelineRow, "environment" | "datasets" | "asked" | "scopes" | "chain"> & {
  readonly environment: string | null;
  readonly datasets: string | null;
  readonly requirements_cut: number;
};

export interface PipelinePage {
  readonly rows: ListedPipeline[];
  /** Cursor to pass as `before` for the next page; undefined at the end of the list. */
  readonly next: string | undefined;
}

/** Number of pipelines that one statement selects to be checked. */
const lookAt = 200;
/** Maximum number of pipelines that are checked for one page. The page ends there even if few pipelines matched. */
const lookAtMost = 20_000;
/** Maximum number of bytes of dataset names that are searched for one page. */
const searchAtMost = 256 * 1024 * 1024;

/**
 * Lists pipelines, without the template pipelines of schedules and backfills. If there are conditions, `nextLook` is
 * awaited before each batch, so that other requests can run.
 */
export async function listPipelines(
  db: Db,
  filter: PipelineFilter,
  nextLook: () => Promise<void> = others,
): Promise<PipelinePage> {
  const { teamId, statuses, text, before, limit } = filter;
  if (statuses !== undefined || text !== undefined) return search(db, filter, nextLook);
  const rows = await shown(db)
    .where("team_id", "=", teamId)
    .where("is_template", "=", 0)
    .$if(before !== undefined, (query) => query.where("id", "<", before as string))
    .limit(limit)
    .execute();
  return { rows, next: rows.length < limit ? undefined : rows.at(-1)?.id };
}

async function search(db: Db, filter: PipelineFilter, nextLook: () => Promise<void>): Promise<PipelinePage> {
  const rows: ListedPipeline[] = [];
  let { before } = filter;
  let bytes = 0;
  for (let looked = 0; looked < lookAtMost && bytes < searchAtMost; looked += lookAt) {
    await nextLook();
    const candidates = await candidatesOf(db, filter, before);
    for (const [index, part] of stretchesOf(candidates, (one) => one.bytes).entries()) {
      if (index > 0) await nextLook();
      const missing = filter.limit - rows.length;
      const ids = part.map(({ id }) => id);
      if (ids.length > 0) rows.push(...(await matching(db, ids, filter).limit(missing).execute()));
      if (rows.length === filter.limit) return { rows, next: rows.at(-1)?.id };
      for (const one of part) bytes += one.bytes;
    }
    if (candidates.length < lookAt) return { rows, next: undefined };
    before = candidates.at(-1)?.id;
  }
  return { rows, next: before };
}

/** Selects the next pipelines to check, with the bytes that searching each of them reads. */
function candidatesOf(db: Db, { teamId, text }: PipelineFilter, before: string | undefined) {
  const searched = text === undefined ? sql<number>`0` : sql<number>`octet_length(datasets)`;
  const query = db
    .selectFrom("pipelines")
    .select(["id", searched.as("bytes")])
    .where("team_id", "=", teamId)
    .where("is_template", "=", 0)
    .orderBy("id", "desc")
    .limit(lookAt);
  return (before === undefined ? query : query.where("id", "<", before)).execute();
}

/** Selects those of the pipelines with these ids that match the conditions of the filter. */
function matching(db: Db, ids: readonly string[], { statuses, text }: PipelineFilter) {
  let query = shown(db).where("id", "in", ids);
  if (statuses !== undefined) query = query.where("status", "in", statuses);
  if (text !== undefined) query = query.where(containsText(db, text));
  return query;
}

const shown = (db: Db) =>
  db
    .selectFrom("pipelines")
    .select(["id", "team_id", "user_id", "name", "status", "is_template", "schedule_id", "triggered_from"])
    .select(["open_runs", "run_as", "created_at", "updated_at", "finished_at", "scheduled_at", "scheduled_timezone"])
    .select([
      ifShort("environment", 2 * answerLimits.listed).as("environment"),
      ifShort("datasets").as("datasets"),
      shortSettings(db).as("settings"),
      sql<number>`case when ${longSettings} then 1 else 0 end`.as("requirements_cut"),
      beginning<string | null>("error_message").as("error_message"),
      beginning<string | null>("error_stack").as("error_stack"),
    ])
    .orderBy("id", "desc");

const longSettings = sql`octet_length(settings) > ${sql.lit(4 * answerLimits.listed)}`;

/**
 * SQL for the settings of a pipeline. If the settings are too long for a list, the requirements are left out; no other
 * setting can be long.
 */
function shortSettings(db: Db) {
  const without = isPostgres(db)
    ? sql`(settings::jsonb - 'requirements')::text`
    : sql`json_remove(settings, '$.requirements')`;
  return sql<string>`case when ${longSettings} then ${without} else settings end`;
}

/**
 * SQL that searches for a literal text, without wildcards. On SQLite `lower_case` is our own function, since SQLite's
 * `lower` handles only ASCII.
 */
function containsText(db: Db, text: string) {
  const searched = sql`name || chr(10) || datasets`;
  if (isPostgres(db)) return sql<boolean>`strpos(lower(${searched}), lower(${text})) > 0`;
  return sql<boolean>`instr(lower_case(name || char(10) || datasets), ${text.toLowerCase()}) > 0`;
}
