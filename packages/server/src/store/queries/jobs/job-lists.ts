/**
 * Lists of jobs, newest first. One part of a filter is answered by an index, in order; the rest is looked at job by job,
 * a few hundred at a time: the embedded store answers on the server's only thread, which has others to serve.
 */
import { setImmediate as others } from "node:timers/promises";
import type { JobStatus } from "@millrace/contract";
import { sql } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import { type ListedJob, listedColumns } from "./jobs.ts";

export interface JobFilter {
  readonly teamId: number;
  readonly tags?: readonly string[] | undefined;
  readonly parentId?: string | undefined;
  readonly name?: string | undefined;
  readonly username?: string | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly clusterId?: number | undefined;
  /** In the name or in as much of the query as lists show, in any letter case. */
  readonly text?: string | undefined;
  /** Only jobs older than this one. */
  readonly before?: string | undefined;
  /** Only this job and newer ones. */
  readonly from?: string | undefined;
  readonly limit: number;
}

export interface JobPage {
  readonly rows: ListedJob[];
  /** Where to go on; undefined: nothing follows. */
  readonly next: string | undefined;
}

/** Jobs looked at in one statement, and for one page; then the page ends, however few were found. */
const lookAt = 200;
export const lookAtMost = 20_000;

const newest = prepared<{ teamId: number; limit: number }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select(listedColumns)
    .where("team_id", "=", value("teamId"))
    .orderBy("id", "desc")
    .limit(value("limit")),
);

/**
 * `nextLook` is awaited before each look of a filter that no index answers: others have their turn.
 * Without joins: twenty rows have few users and clusters, and looking those up costs a third of joining.
 */
export async function listJobs(db: Db, filter: JobFilter, nextLook: () => Promise<void> = others): Promise<JobPage> {
  const { teamId, limit, from, before, ...criteria } = filter;
  const given = Object.values(criteria).some((value) => value !== undefined);
  if (!given && from === undefined && before === undefined) {
    const { rows } = await newest(db, { teamId, limit });
    return { rows, next: rows.length < limit ? undefined : rows.at(-1)?.id };
  }
  const rest = restOf(filter);
  return rest ? search(db, filter, rest, nextLook) : page(db, filter);
}

/** The index answers the whole filter. */
async function page(db: Db, filter: JobFilter): Promise<JobPage> {
  const ids = await candidates(db, filter, filter.before, filter.limit);
  const rows = ids.length === 0 ? [] : await shownJobs(db, ids).execute();
  return { rows, next: ids.length < filter.limit ? undefined : ids.at(-1) };
}

async function search(db: Db, filter: JobFilter, rest: JobFilter, nextLook: () => Promise<void>): Promise<JobPage> {
  const rows: ListedJob[] = [];
  let { before } = filter;
  for (let looked = 0; looked < lookAtMost; looked += lookAt) {
    await nextLook();
    const ids = await candidates(db, filter, before, lookAt);
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

/** What the index that `candidates` takes leaves open; undefined: nothing. */
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

/** Ids by the first of: tag, parent, name, user, state, team. Each has an index in the order of ids. */
function candidates(db: Db, filter: JobFilter, before: string | undefined, limit: number): Promise<string[]> {
  const { tags, parentId, name, username, statuses } = filter;
  const [tag] = tags ?? [];
  if (tag !== undefined) return idsWithTag(db, filter, tag, before, limit);
  if (statuses !== undefined && parentId === undefined && name === undefined && username === undefined)
    return newestOfEach(db, filter, statuses, before, limit);
  return idsOf(db, filter, before, limit);
}

async function idsWithTag(
  db: Db,
  { teamId, from }: JobFilter,
  tag: string,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  let query = db.selectFrom("job_tags").select("job_id").where("team_id", "=", teamId).where("tag", "=", tag);
  if (before !== undefined) query = query.where("job_id", "<", before);
  if (from !== undefined) query = query.where("job_id", ">=", from);
  const rows = await query.orderBy("job_id", "desc").limit(limit).execute();
  return rows.map((row) => row.job_id);
}

/**
 * One page per state, then the newest of them all. A plain `status in (…)` would sort every job in those states, which
 * among a million finished ones is the whole table.
 */
async function newestOfEach(
  db: Db,
  filter: JobFilter,
  statuses: readonly JobStatus[],
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  const pages = await Promise.all(statuses.map((status) => idsInState(db, filter, status, before, limit)));
  return pages.flat().sort().reverse().slice(0, limit);
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

async function idsInState(
  db: Db,
  filter: JobFilter,
  status: JobStatus,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  const { teamId, from } = filter;
  if (before !== undefined || from !== undefined) return idsOf(db, { teamId, from, limit }, before, limit, status);
  return (await newestInState(db, { teamId, status, limit })).rows.map((row) => row.id);
}

async function idsOf(
  db: Db,
  { teamId, parentId, name, username, from }: JobFilter,
  before: string | undefined,
  limit: number,
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

/** Those of a few jobs that pass the rest of a filter. */
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

/** Compared as it is written, without wildcards. `lower_case` is ours: SQLite's own knows ASCII letters only. */
function containsText(db: Db, text: string) {
  if (isPostgres(db)) {
    const found = sql`strpos(lower(concat(name, chr(10), spec::json->>'query')), lower(${text}))`;
    return sql<boolean>`${found} > 0`;
  }
  const found = sql`instr(lower_case(coalesce(name, '') || char(10) || json_extract(spec, '$.query')), ${text.toLowerCase()})`;
  return sql<boolean>`${found} > 0`;
}
