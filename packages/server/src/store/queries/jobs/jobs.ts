/** Queries on jobs. */
import { answerLimits, type JobStatus } from "@millrace/contract";
import { type Insertable, type Selectable, sql } from "kysely";
import { columnsOf, prepared, preparedByShape } from "../../drivers/prepared.ts";
import { type Db, isPostgres } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart, nextTurn, parts } from "../batches.ts";
import { heardJob, noteJobs } from "../events/outbox.ts";
import { addUsage } from "../people/team-usage.ts";
import { beginning, ifShort } from "../short-texts.ts";
import {
  type LongField,
  longTexts,
  putJobTexts,
  refsOf,
  removeJobTexts,
  splitSpec,
  type TextRefs,
  wholeSpec,
} from "./job-texts.ts";

/** A job with its full spec. */
export type JobRow = Omit<Selectable<Tables["jobs"]>, "cut" | "texts_settled_at">;

/** A job with its shortened spec, and the hashes of the full texts. */
export interface ShortJob extends JobRow {
  /** Names of shortened fields, as JSON. The text of a field that is named here but missing in `texts` was deleted. */
  readonly cut: string;
  readonly texts: TextRefs;
}

/** Columns that both lists and single jobs show: the state of the job, and ids to look up names by. */
const shown = [
  "id",
  "user_id",
  "cluster_id",
  "status",
  "started_at",
  "finished_at",
  "exit_code",
  "steps",
  "pipeline_id",
  "retried",
] as const;

/** Columns for lists. `environment` and `metrics` are null if they are too long. */
export const listedColumns = [
  ...shown,
  "spec",
  "cut",
  beginning<string | null>("error_message").as("error_message"),
  beginning<string | null>("error_stack").as("error_stack"),
  ifShort("environment", 2 * answerLimits.listed).as("environment"),
  ifShort("metrics").as("metrics"),
] as const;

/** Columns for lists that do not show steps. */
export const listedWithoutSteps = [
  ...listedColumns.filter((column) => column !== "steps"),
  sql<null>`null`.as("steps"),
] as const;

/** Columns for a single job. */
const wholeColumns = [
  ...shown,
  "error_message",
  "error_stack",
  "environment",
  "metrics",
  "spec",
  "cut",
  longTexts.as("long"),
] as const;

export type ListedJob = Pick<
  Selectable<Tables["jobs"]>,
  (typeof shown)[number] | "spec" | "cut" | "error_message" | "error_stack"
> & {
  readonly environment: string | null;
  readonly metrics: string | null;
};

/**
 * A job to insert. Its spec is complete, except for fields whose full texts are already stored; `texts` has the hashes
 * of these texts.
 */
export type NewJob = Omit<Insertable<Tables["jobs"]>, "cut" | "texts_settled_at"> & { readonly texts?: TextRefs };

export const insertJob = (db: Db, job: NewJob) => insertJobs(db, [job]);

/**
 * Returns how many bytes of a job's encrypted variables count towards the team's text quota. Only long variables count.
 * They count for every job, because jobs do not share them.
 */
export const bytesOfVariables = (encrypted: string) => (encrypted.length > answerLimits.listed ? encrypted.length : 0);

/**
 * SQL for the counted bytes of a job's variables. `octet_length` is fast on SQLite, which has byte lengths in the row
 * header but counts characters by reading them.
 */
export const lengthOfVariables = sql<number>`case when octet_length(environment) > ${sql.lit(answerLimits.listed)} then octet_length(environment) else 0 end`;

/** Inserts jobs and their texts. Returns the bytes of texts that were not in the store before. */
export async function insertJobs(db: Db, jobs: readonly NewJob[]): Promise<number> {
  const all = jobs.map(({ texts, ...job }) => ({ job, split: splitSpec(job.spec, texts) }));
  await eachPart(all, async (part) => {
    const rows = part.map(({ job, split }) => ({ ...job, ...split.listed, texts_settled_at: null }));
    await noteJobs(db, await insertRows(db, rows));
  });
  let variables = 0;
  for (const [teamId, own] of Map.groupBy(jobs, (job) => job.team_id)) {
    const bytes = own.reduce((sum, { environment }) => sum + bytesOfVariables(environment), 0);
    await addUsage(db, teamId, "texts", bytes);
    variables += bytes;
  }
  return variables + (await putJobTexts(db, all));
}

type NewRow = Insertable<Tables["jobs"]>;

const insertRow = preparedByShape<readonly string[], NewRow>()((db, value, columns) => {
  const row = Object.fromEntries(columns.map((name) => [name, value(name as keyof NewRow)])) as NewRow;
  return db.insertInto("jobs").values(row).returning(heardJob);
});

/** Inserts rows of jobs. Most inserts are of one job, so that statement is compiled once. */
async function insertRows(db: Db, rows: readonly NewRow[]) {
  const [row, second] = rows;
  if (row && !second) return (await insertRow(db, columnsOf(row), row)).rows;
  return db.insertInto("jobs").values(rows).returning(heardJob).execute();
}

const byId = prepared<{ id: string }>()((db, value) =>
  db.selectFrom("jobs").selectAll().select(longTexts.as("long")).where("id", "=", value("id")),
);
export async function getJob(db: Db, id: string): Promise<JobRow | undefined> {
  const [row] = (await byId(db, { id })).rows;
  return row && wholeSpec(row);
}

/** Returns the fields of a job whose full contents were deleted. */
export const fieldsGivenBack = ({ cut, texts }: ShortJob): (LongField | "environment")[] =>
  cut === "" ? [] : (JSON.parse(cut) as LongField[]).filter((field) => texts[field] === undefined);

/** Returns the existing jobs among `ids`, in the same order. */
export async function getShortJobs(db: Db, ids: readonly string[]): Promise<ShortJob[]> {
  const found = new Map<string, ShortJob>();
  await eachPart(ids, async (part) => {
    const rows = await db.selectFrom("jobs").selectAll().where("id", "in", part).execute();
    const long = rows.filter(({ cut }) => cut !== "").map(({ id }) => id);
    const refs = await refsOf(db, long);
    for (const row of rows) found.set(row.id, { ...row, texts: refs.get(row.id) ?? {} });
  });
  return ids.flatMap((id) => found.get(id) ?? []);
}
/**
 * Whether the jobs' own settings and variables, without shared long texts, exceed this number of bytes. Stops counting
 * once they do.
 */
export async function ownTextExceeds(db: Db, ids: readonly string[], most: number): Promise<boolean> {
  const sum = sql<number>`coalesce(sum(octet_length(spec) + octet_length(environment)), 0)`;
  let bytes = 0;
  for (const part of parts(ids)) {
    const row = await db.selectFrom("jobs").select(sum.as("own")).where("id", "in", part).executeTakeFirst();
    bytes += Number(row?.own ?? 0);
    if (bytes > most) return true;
    await nextTurn();
  }
  return false;
}

export const getShortJob = async (db: Db, id: string): Promise<ShortJob | undefined> =>
  (await getShortJobs(db, [id]))[0];

const stateById = prepared<{ id: string }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select(["team_id", "status", "attempt", "retried", "log_removed_at", "cluster_id"])
    .where("id", "=", value("id")),
);
/** Returns only the state of a job, for frequent polling. */
export const getJobState = async (db: Db, id: string) => (await stateById(db, { id })).rows[0];
export type JobState = NonNullable<Awaited<ReturnType<typeof getJobState>>>;

/** Returns the states of several jobs by id; ids without a job are left out. */
export async function getJobStates(db: Db, ids: readonly string[]): Promise<Map<string, JobState>> {
  const rows = await db
    .selectFrom("jobs")
    .select(["id", "team_id", "status", "attempt", "retried", "log_removed_at", "cluster_id"])
    .where("id", "in", ids)
    .execute();
  return new Map(rows.map(({ id, ...state }) => [id, state]));
}

const secretsById = prepared<{ id: string }>()((db, value) =>
  db
    .selectFrom("jobs")
    .select(["id", "status", "attempt", "retried", "environment", "secrets", "log_removed_at", "cluster_id"])
    .where("id", "=", value("id")),
);
/** Returns the encrypted variables and secrets that must be masked in the job's log. */
export const getJobSecrets = async (db: Db, id: string) => (await secretsById(db, { id })).rows[0];
export type JobSecretsRow = NonNullable<Awaited<ReturnType<typeof getJobSecrets>>>;

const shownById = prepared<{ teamId: number; id: string }>()((db, value) =>
  db.selectFrom("jobs").select(wholeColumns).where("team_id", "=", value("teamId")).where("id", "=", value("id")),
);
/** Returns a job of this team with its full spec. */
export async function findJob(db: Db, teamId: number, id: string): Promise<ListedJob | undefined> {
  const [row] = (await shownById(db, { teamId, id })).rows;
  return row && wholeSpec(row);
}

/**
 * Lists jobs that ended before this time and still have logs, earliest end first, starting after the cursor `after`.
 */
export const jobsWithOldLogs = (db: Db, before: string, after: { finished_at: string; id: string }, limit: number) =>
  db
    .selectFrom("jobs")
    .select((eb) => ["id", "attempt", "cluster_id", eb.ref("finished_at").$castTo<string>().as("finished_at")])
    .where("finished_at", "is not", null)
    .where("log_removed_at", "is", null)
    .where("finished_at", "<", before)
    .where((eb) =>
      eb.or([
        eb("finished_at", ">", after.finished_at),
        eb("finished_at", "=", after.finished_at).and("id", ">", after.id),
      ]),
    )
    .orderBy("finished_at")
    .orderBy("id")
    .limit(limit)
    .execute();

/**
 * Marks logs as removed, subtracts their size from the usage, and deletes the secrets that were only needed to mask
 * them.
 */
export async function markLogsRemoved(db: Db, ids: readonly string[], now: string): Promise<void> {
  const removed = await db
    .updateTable("jobs")
    .set({ log_removed_at: now, secrets: "" })
    .where("id", "in", ids)
    .where("log_removed_at", "is", null)
    .returning(["team_id", "log_bytes"])
    .execute();
  for (const { team_id, log_bytes } of removed) await addUsage(db, team_id, "logs", -(log_bytes ?? 0));
}

/** Whether the job's logs still exist. */
export const hasLog = async (db: Db, id: string): Promise<boolean> =>
  (await db
    .selectFrom("jobs")
    .select("id")
    .where("id", "=", id)
    .where("log_removed_at", "is", null)
    .executeTakeFirst()) !== undefined;

/** Returns the team id of each job that exists, by job id. Takes at most 500 ids, in one statement. */
export async function teamsOfJobs(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.selectFrom("jobs").select(["id", "team_id"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, team_id }) => [id, team_id]));
}

/** Lists ended jobs whose logs have not been counted towards usage yet. */
export const jobsWithUncountedLogs = (db: Db, limit: number) =>
  db
    .selectFrom("jobs")
    .select(["id", "attempt", "cluster_id"])
    .where("log_bytes", "is", null)
    .where("log_removed_at", "is", null)
    .where("finished_at", "is not", null)
    .orderBy("finished_at")
    .orderBy("id")
    .limit(limit)
    .execute();

const setLogBytes = prepared<{ id: string; bytes: number }>()((db, value) =>
  db
    .updateTable("jobs")
    .set({ log_bytes: value("bytes") })
    .where("id", "=", value("id"))
    .where("log_bytes", "is", null)
    .where("log_removed_at", "is", null)
    .returning("team_id"),
);
export async function countLog(db: Db, id: string, bytes: number): Promise<void> {
  const [counted] = (await setLogBytes(db, { id, bytes })).rows;
  if (counted) await addUsage(db, counted.team_id, "logs", bytes);
}

/** Lists the team's jobs with logs on disk, earliest end first. */
export const oldestLogs = (db: Db, teamId: number, limit: number) =>
  db
    .selectFrom("jobs")
    .select((eb) => ["id", "attempt", "cluster_id", eb.ref("log_bytes").$castTo<number>().as("log_bytes")])
    .where("team_id", "=", teamId)
    .where("log_bytes", ">", 0)
    .where("log_removed_at", "is", null)
    .orderBy("finished_at")
    .orderBy("id")
    .limit(limit)
    .execute();

export const setSteps = (db: Db, id: string, fence: number, steps: string) =>
  db.updateTable("jobs").set({ steps }).where("id", "=", id).where("attempt", "=", fence).execute();

export type Rewritten = Pick<NewJob, "id" | "spec" | "environment" | "texts">;

/**
 * Rewrites the contents of jobs that are in one of the given states and were never started. Uses batches of a hundred,
 * because on SQLite each statement costs in proportion to what the transaction has already changed. Returns the number
 * of rewritten jobs and the bytes of new texts.
 */
export async function rewriteJobs(
  db: Db,
  jobs: readonly Rewritten[],
  states: readonly JobStatus[],
): Promise<{ readonly rewritten: number; readonly added: number }> {
  let rewritten = 0;
  let added = 0;
  const rewrite = async (part: readonly Rewritten[]) => {
    const fresh = part.map(({ id, spec, environment, texts }) => ({ id, environment, split: splitSpec(spec, texts) }));
    const before = await bytesBefore(db, part);
    const teams = await setContents(db, fresh, states);
    const changed = fresh.flatMap((one) => {
      const team_id = teams.get(one.id);
      return team_id === undefined ? [] : { ...one, job: { id: one.id, team_id } };
    });
    const growth = changed.map(({ id, environment }) => bytesOfVariables(environment) - (before.get(id) ?? 0));
    for (const [teamId, own] of Map.groupBy(changed.keys(), (index) => changed[index]?.job.team_id ?? 0))
      await addUsage(db, teamId, "texts", sumOf(own.map((index) => growth[index] ?? 0)));
    await removeJobTexts(db, [...teams.keys()]);
    rewritten += changed.length;
    added += sumOf(growth.map((bytes) => Math.max(0, bytes))) + (await putJobTexts(db, changed));
  };
  await eachPart(jobs, rewrite, rewrittenAtOnce);
  return { rewritten, added };
}

const rewrittenAtOnce = 100;
const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

interface FreshContent {
  readonly id: string;
  readonly environment: string;
  readonly split: ReturnType<typeof splitSpec>;
}

/** Updates jobs that are in one of the states. Returns the team of each updated job, by job id. */
async function setContents(
  db: Db,
  jobs: readonly FreshContent[],
  states: readonly JobStatus[],
): Promise<Map<string, number>> {
  const rows = jobs.map(
    ({ id, environment, split: { listed } }) => sql`(${id}, ${listed.spec}, ${listed.cut}, ${environment})`,
  );
  const { rows: changed } = await sql<{ id: string; team_id: number }>`
    with fresh (job, new_spec, new_cut, new_environment) as (values ${sql.join(rows)})
    update jobs set spec = new_spec, cut = new_cut, environment = new_environment from fresh
    where id = job and status in (${sql.join(states)}) and retried = 0
    returning id, team_id`.execute(db);
  return new Map(changed.map(({ id, team_id }) => [id, team_id]));
}

async function bytesBefore(db: Db, jobs: readonly Rewritten[]): Promise<Map<string, number>> {
  const ids = jobs.map(({ id }) => id);
  const query = db
    .selectFrom("jobs")
    .select(["id", lengthOfVariables.as("bytes")])
    .where("id", "in", ids);
  const rows = await (isPostgres(db) ? query.forUpdate() : query).execute();
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}

/**
 * Changes the owners of jobs that have not started, in one statement. The jobs then remember no access token, because
 * the one that they remembered was not of the new owner. Fields of a spec that are shortened (`cut`) must
 * stay the same, because their full texts in `texts` are not updated. The caller passes a limited number of jobs.
 */
export async function reassignJobs(
  db: Db,
  changes: readonly Pick<JobRow, "id" | "user_id" | "scopes" | "spec">[],
  states: readonly JobStatus[],
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ id, user_id, scopes, spec }) => sql`(${id}, ${String(user_id)}, ${scopes}, ${spec})`);
  await sql`
    with fresh (job, new_user, new_scopes, new_spec) as (values ${sql.join(rows)})
    update jobs set user_id = cast(new_user as integer), scopes = new_scopes, spec = new_spec, token_id = null from fresh
    where jobs.id = job and jobs.status in (${sql.join(states)})`.execute(db);
}

/** Sets the access token that these jobs remember, except for jobs that have begun before. */
export const setTokenOfJobs = (db: Db, ids: readonly string[], tokenId: number | null, states: readonly JobStatus[]) =>
  db
    .updateTable("jobs")
    .set({ token_id: tokenId })
    .where("id", "in", ids)
    .where("status", "in", states)
    .where("retried", "=", 0)
    .execute();

export async function newestJobId(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom("jobs").select("id").orderBy("id", "desc").limit(1).executeTakeFirst();
  return row?.id;
}
