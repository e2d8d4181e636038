/**
 * Short and full versions of a job's spec. `jobs.spec` is the short version, which is shown in lists. `jobs.cut` names
 * the fields that are shortened in it. Their full texts are in the table `texts`, and jobs with the same text share one
 * row. So lists never read large scripts, and repeating a job stores no second copy of its script.
 */
import { ApiError, answerLimits } from "@millrace/contract";
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart, parts } from "../batches.ts";
import { beginningOf } from "../short-texts.ts";
import { hashOf, holdTexts, putTexts } from "./texts.ts";

/** Fields that may be shortened, in the order in which `cut` names them. */
const longFields = ["query", "requirements", "repository", "name", "params"] as const;
export type LongField = (typeof longFields)[number];

/** Hashes of the full texts of the fields that are shortened in a spec. */
export type TextRefs = Readonly<Partial<Record<LongField, string>>>;

interface SplitSpec {
  /** Values of the columns in `jobs`. */
  readonly listed: { readonly spec: string; readonly cut: string };
  /** Hash of the full text of each shortened field. */
  readonly refs: TextRefs;
  /** Full texts of the fields that this call shortened, as JSON. The key is the hash of the text. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Shortens the long fields of a spec. Some fields of `given` may be shortened already, with their full texts in the
 * store; `shared` has the hashes of these texts.
 */
export function splitSpec(given: string, shared: TextRefs = {}): SplitSpec {
  const refs: Partial<Record<LongField, string>> = { ...shared };
  const texts = new Map<string, string>();
  let spec = given;
  if (given.length > answerLimits.listed) {
    const fields = JSON.parse(given) as Record<string, unknown>;
    for (const name of longFields.filter((field) => isLong(fields[field]))) {
      const text = JSON.stringify(fields[name]);
      refs[name] = hashOf(text);
      texts.set(refs[name], text);
      fields[name] = shortOf(fields[name]);
    }
    if (texts.size > 0) spec = JSON.stringify(fields);
  }
  const cut = longFields.filter((name) => refs[name] !== undefined);
  return { listed: { spec, cut: cut.length === 0 ? "" : JSON.stringify(cut) }, refs, texts };
}

const isLong = (value: unknown) =>
  typeof value === "string"
    ? value.length > answerLimits.listed
    : JSON.stringify(value ?? null).length > answerLimits.listed;
const shortOf = (value: unknown) => (typeof value === "string" ? beginningOf(value) : {});

/**
 * SQL for the long texts of one job, as a JSON object by field; null if the job has no long texts, or if they were
 * deleted.
 */
export const longTexts = sql<string | null>`(select '{' || string_agg('"' || field || '":' || text, ',') || '}'
  from job_texts join texts on texts.team_id = job_texts.team_id and texts.hash = job_texts.hash
  where job_texts.job_id = jobs.id and jobs.cut <> '')`;

interface ReadSpec {
  readonly spec: string;
  readonly cut: string;
  readonly long: string | null;
}

/** Restores the full spec. Afterwards `cut` names only the fields whose texts were deleted. */
export function wholeSpec<Row extends ReadSpec>({ long, ...row }: Row): Omit<Row, "long"> {
  if (row.cut === "" || long === null) return row;
  const found = JSON.parse(long) as Record<string, unknown>;
  const missing = (JSON.parse(row.cut) as string[]).filter((name) => !(name in found));
  const spec = JSON.stringify({ ...(JSON.parse(row.spec) as object), ...found });
  return { ...row, spec, cut: missing.length === 0 ? "" : JSON.stringify(missing) };
}

/** Returns the hashes of the jobs' long texts, by job id. */
export async function refsOf(db: Db, jobIds: readonly string[]): Promise<Map<string, TextRefs>> {
  const found = new Map<string, TextRefs>();
  for (const part of parts(jobIds)) {
    const query = db.selectFrom("job_texts").select(["job_id", "field", "hash"]).where("job_id", "in", part);
    for (const { job_id, field, hash } of await query.execute())
      found.set(job_id, { ...found.get(job_id), [field]: hash });
  }
  return found;
}

interface JobTexts {
  readonly job: { readonly id: string; readonly team_id: number };
  readonly split: SplitSpec;
}

/** Stores the long texts of jobs whose rows exist already. Returns the bytes that were new in the store. */
export async function putJobTexts(db: Db, jobs: readonly JobTexts[]): Promise<number> {
  let added = 0;
  for (const [teamId, all] of Map.groupBy(jobs, ({ job }) => job.team_id)) {
    const rows = all.flatMap(({ job, split }) =>
      Object.entries(split.refs).map(([field, hash]) => ({ job_id: job.id, field, team_id: teamId, hash })),
    );
    if (rows.length === 0) continue;
    const texts = new Map(all.flatMap(({ split }) => [...split.texts]));
    const shared = rows.map(({ hash }) => hash).filter((hash) => !texts.has(hash));
    if ((await holdTexts(db, teamId, shared)).size < new Set(shared).size) throw textGone();
    added += await putTexts(db, teamId, texts);
    await eachPart(rows, (part) => db.insertInto("job_texts").values(part).execute());
  }
  return added;
}

const textGone = () =>
  new ApiError(
    "wrong_state",
    "The server deleted the script of an old job while this request was copying the script. Send the request again.",
  );

/**
 * Deletes the jobs' references to their texts. A later sweep deletes the texts, unless another job refers to them by
 * then.
 */
export async function removeJobTexts(db: Db, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length > 0) await db.deleteFrom("job_texts").where("job_id", "in", jobIds).execute();
}

/** Number of jobs that one statement of the migration reads. */
const readAtOnce = 20;

type IdsAfter = (db: Db, after: string) => Promise<readonly { readonly id: string }[]>;
const splitBefore: IdsAfter = (db, after) =>
  db
    .selectFrom("large_specs")
    .select("job_id as id")
    .where("job_id", ">", after)
    .orderBy("job_id")
    .limit(readAtOnce)
    .execute();
const neverSplit: IdsAfter = (db, after) =>
  db
    .selectFrom("jobs")
    .select("id")
    .where(sql`octet_length(spec)`, ">", answerLimits.listed)
    .where("cut", "=", "")
    .where("id", ">", after)
    .orderBy("id")
    .limit(readAtOnce)
    .execute();

/** Migrates existing jobs to shared texts, one at a time because a spec may have many megabytes. */
export async function shareSpecs(db: Db): Promise<void> {
  for (const idsAfter of [splitBefore, neverSplit])
    for (let after = ""; ; ) {
      const ids = await idsAfter(db, after);
      for (const { id } of ids) await shareSpec(db, id);
      const last = ids.at(-1);
      if (last === undefined) break;
      after = last.id;
    }
}

async function shareSpec(db: Db, id: string): Promise<void> {
  const { team_id, spec } = await db
    .selectFrom("jobs")
    .leftJoin("large_specs", "large_specs.job_id", "jobs.id")
    .select(["team_id", sql<string>`coalesce(large_specs.spec, jobs.spec)`.as("spec")])
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const split = splitSpec(spec);
  await db.updateTable("jobs").set(split.listed).where("id", "=", id).execute();
  await putJobTexts(db, [{ job: { id, team_id }, split }]);
}
