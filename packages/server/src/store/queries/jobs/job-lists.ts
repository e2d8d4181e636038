/**
 * Lists jobs, newest first. An index returns the jobs that match one condition of the filter, already in this order;
 * the other conditions are checked on batches of a few hundred jobs. SQLite runs on the server's only thread, so a
 * longer statement would block other requests.
 */
import { setImmediate as others } from "node:timers/promises";
import type { JobStatus } from "@millrace/contract";
import { sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import { type ListedJob, listedColumns, listedWithoutSteps } from "./jobs.ts";

export interface JobFilter {
  readonly teamId: number;
  readonly tags?: readonly string[] | undefined;
  readonly parentId?: string | undefined;
  readonly name?: string | undefined;
  readonly username?: string | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly clusterId?: number | undefined;
  /** Text to find in the name, or in the part of the script that is shown in lists, ignoring case. */
  readonly text?: string | undefined;
  /** Only jobs older than this job id. */
  readonly before?: string | undefined;
  /** Only the job with this id and newer jobs. */
  readonly from?: string | undefined;
  readonly limit: number;
  /** Whether the steps of jobs may be left out, because the answer does not show them. */
  readonly withoutSteps?: boolean;
}

export interface JobPage {
  readonly rows: ListedJob[];
  /** Cursor to pass as `before` for the next page; undefined at the end of the list. */
  readonly next: string | undefined;
}

/** Maximum number of jobs that one statement checks. */
const lookAt = 200;
/** Maximum number of jobs that are checked for one page. The page ends there even if few jobs matched. */
export const lookAtMost = 20_000;

interface Newest {
  readonly teamId: number;
  readonly limit: number;
}

const newest = prepared<Newest>()((db, value) => newestJobs(db, value).select(listedColumns));
const newestWithoutSteps = prepared<Newest>()((db, value) => newestJobs(db, value).select(listedWithoutSteps));

const newestJobs = (db: Db, value: (name: keyof Newest) => number) =>
  db.selectFrom("jobs").where("team_id", "=", value("teamId")).orderBy("id", "desc").limit(value("limit"));

/**
 * Lists jobs. If no index answers the filter, jobs are checked in batches, and `nextLook` is awaited before each batch,
 * so that other requests can run. The query has no joins: a page has few distinct users and clusters, and looking them
 * up separately costs a third as much.
 */
export async function listJobs(db: Db, filter: JobFilter, nextLook: () => Promise<void> = others): Promise<JobPage> {
  const { teamId, limit, from, before, withoutSteps = false, ...criteria } = filter;
  const given = Object.values(criteria).some((value) => value !== undefined);
  if (!given && from === undefined && before === undefined) {
    const { rows } = await (withoutSteps ? newestWithoutSteps : newest)(db, { teamId, limit });
    return { rows, next: rows.length < limit ? undefined : rows.at(-1)?.id };
  }
  const rest = restOf(filter);
  return rest ? search(db, filter, rest, nextLook) : page(db, filter);
}

/** Reads a page whose filter an index answers completely. */
async function page(db: Db, filter: JobFilter): Promise<JobPage> {
  const ids = await candidates(db, filter);
  const rows = ids.length === 0 ? [] : await shownJobs(db, ids).execute();
  return { rows, next: ids.length < filter.limit ? undefined : ids.at(-1) };
}

async function search(db: Db, filter: JobFilter, rest: JobFilter, nextLook: () => Promise<void>): Promise<JobPage> {
  const rows: ListedJob[] = [];
  let { before } = filter;
  for (let looked = 0; looked < lookAtMost; looked += lookAt) {
    await nextLook();
    const ids = await candidates(db, { ...filter, before, limit: lookAt });
    const missing = filter.limit - rows.length;
    if (ids.length > 0) rows.push(...(await matching(db, ids, rest).limit(missing).execute()));
    if (rows.length === filter.limit) return { rows, next: rows.at(-1)?.id };
    if (ids.length < lookAt) return { rows, next: undefined };
    before = ids.at(-1);
  }
  return { rows, next: before };
}

const shownJobs = (db: Db, ids: readonly string[]) =>
  db.selectFrom("jobs").select(listedColumns).where("id", "in", ids).orderBy("id", "desc");

/** Returns the conditions that the index used by `candidates` does not answer; undefined if there are none. */
function restOf(filter: JobFilter): JobFilter | undefined {
  const { teamId, limit, tags, parentId, name, username, statuses, clusterId, text } = filter;
  const parts = { tags, parentId, name, username, statuses };
  const first = (Object.keys(parts) as (keyof typeof parts)[]).find((part) => parts[part] !== undefined);
  const taken = first === undefined ? {} : { [first]: first === "tags" ? tags?.slice(1) : undefined };
  const rest = { ...parts, clusterId, text, ...taken };
  const open = Object.values(rest).some(
    (value) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return open ? { teamId, limit, ...rest } : undefined;
}

/**
 * Returns the ids of jobs that match one condition of the filter. The condition is the first one that is set in this
 * order: tag, parent, name, user, status. If none is set, all jobs of the team match. Each condition has an index that
 * is ordered by id.
 */
function candidates(db: Db, filter: JobFilter): Promise<string[]> {
  const { tags, parentId, name, username, statuses } = filter;
  const [tag] = tags ?? [];
  if (tag !== undefined) return idsWithTag(db, filter, tag);
  if (statuses !== undefined && parentId === undefined && name === undefined && username === undefined)
    return newestOfEach(db, filter, statuses);
  return idsOf(db, filter);
}

async function idsWithTag(db: Db, { teamId, before, from, limit }: JobFilter, tag: string): Promise<string[]> {
  let query = db.selectFrom("job_tags").select("job_id").where("team_id", "=", teamId).where("tag", "=", tag);
  if (before !== undefined) query = query.where("job_id", "<", before);
  if (from !== undefined) query = query.where("job_id", ">=", from);
  const rows = await query.orderBy("job_id", "desc").limit(limit).execute();
  return rows.map((row) => row.job_id);
}

/**
 * Reads one page of jobs per status and merges these pages. A plain `status in (…)` would sort every job with those
 * statuses, which can be the whole table.
 */
async function newestOfEach(db: Db, filter: JobFilter, statuses: readonly JobStatus[]): Promise<string[]> {
  const pages = await Promise.all(statuses.map((status) => idsInState(db, filter, status)));
  return pages.flat().sort().reverse().slice(0, filter.limit);
}

const newestInState = prepared<{ teamId: number; status: JobStatus; limit: number }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select("id")
    .where("team_id", "=", value("teamId"))
    .where("status", "=", value("status"))
    .orderBy("id", "desc")
    .limit(value("limit")),
);

async function idsInState(db: Db, filter: JobFilter, status: JobStatus): Promise<string[]> {
  const { teamId, before, from, limit } = filter;
  if (before !== undefined || from !== undefined) return idsOf(db, { teamId, before, from, limit }, status);
  return (await newestInState(db, { teamId, status, limit })).rows.map((row) => row.id);
}

async function idsOf(
  db: Db,
  { teamId, parentId, name, username, before, from, limit }: JobFilter,
  status?: JobStatus,
): Promise<string[]> {
  let query = db.selectFrom("jobs").select("id").where("team_id", "=", teamId);
  if (before !== undefined) query = query.where("id", "<", before);
  if (from !== undefined) query = query.where("id", ">=", from);
  if (status !== undefined) query = query.where("status", "=", status);
  if (parentId !== undefined) query = query.where("parent_job_id", "=", parentId);
  else if (name !== undefined) query = query.where("name", "=", name);
  else if (username !== undefined) query = query.where("user_id", "=", userNamed(db, username));
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map((row) => row.id);
}

const userNamed = (db: Db, username: string) => db.selectFrom("users").select("id").where("username", "=", username);

/** Selects those of the jobs with these ids that match the conditions in `rest`. */
function matching(db: Db, ids: readonly string[], rest: JobFilter) {
  const { teamId, tags, name, username, statuses, clusterId, text } = rest;
  let query = shownJobs(db, ids);
  for (const tag of tags ?? []) {
    const tagged = db.selectFrom("job_tags").select("job_id").where("team_id", "=", teamId).where("tag", "=", tag);
    query = query.where("id", "in", tagged.where("job_id", "in", ids));
  }
  if (rest.parentId !== undefined) query = query.where("parent_job_id", "=", rest.parentId);
  if (name !== undefined) query = query.where("name", "=", name);
  if (username !== undefined) query = query.where("user_id", "=", userNamed(db, username));
  if (statuses !== undefined) query = query.where("status", "in", statuses);
  if (clusterId !== undefined) query = query.where("cluster_id", "=", clusterId);
  if (text !== undefined) query = query.where(containsText(db, text));
  return query;
}

/**
 * SQL that searches for a literal text, without wildcards. On SQLite `lower_case` is our own function, since SQLite's
 * `lower` handles only ASCII.
 */
function containsText(db: Db, text: string) {
  if (isPostgres(db)) {
    const found = sql`strpos(lower(concat(name, chr(10), spec::json->>'query')), lower(${text}))`;
    return sql<boolean>`${found} > 0`;
  }
  const found = sql`instr(lower_case(coalesce(name, '') || char(10) || json_extract(spec, '$.query')), ${text.toLowerCase()})`;
  return sql<boolean>`${found} > 0`;
}
