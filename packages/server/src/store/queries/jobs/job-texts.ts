/**
 * What a job is, in two sizes. `jobs.spec` is as much of it as lists show; where that is not all, `cut` names the fields,
 * and `job_texts` says where they are whole: in `texts`, shared with every job that has the same. Lists, which read many
 * rows, so never come near a script of a megabyte, and a job like another costs no second script.
 */
import { ApiError, answerLimits } from "@millrace/contract";
import { sql } from "kysely";
import type { Db } from "../../drivers/store.ts";
import { eachPart, parts } from "../batches.ts";
import { beginningOf } from "../short-texts.ts";
import { hashOf, holdTexts, putTexts } from "./texts.ts";

/** In the order in which `cut` names them. */
const longFields = ["query", "requirements", "repository", "name", "params"] as const;
export type LongField = (typeof longFields)[number];

/** Hashes of the fields that a spec has only the beginnings of. */
export type TextRefs = Readonly<Partial<Record<LongField, string>>>;

interface SplitSpec {
  /** The columns of `jobs`. */
  readonly listed: { readonly spec: string; readonly cut: string };
  /** Where each field that is cut is whole. */
  readonly refs: TextRefs;
  /** What was whole until now, as JSON, by hash. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Takes what is long out of a spec. What others know of it already (`shared`) is only its beginning there. */
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

/** For a statement that reads one job: its long texts as one JSON object; null: it has none, or they were given back. */
export const longTexts = sql<string | null>`(select '{' || string_agg('"' || field || '":' || text, ',') || '}'
  from job_texts join texts on texts.team_id = job_texts.team_id and texts.hash = job_texts.hash
  where job_texts.job_id = jobs.id and jobs.cut <> '')`;

interface ReadSpec {
  readonly spec: string;
  readonly cut: string;
  readonly long: string | null;
}

/** All of it again; `cut` then names what was given back. */
export function wholeSpec<Row extends ReadSpec>({ long, ...row }: Row): Omit<Row, "long"> {
  if (row.cut === "" || long === null) return row;
  const found = JSON.parse(long) as Record<string, unknown>;
  const missing = (JSON.parse(row.cut) as string[]).filter((name) => !(name in found));
  const spec = JSON.stringify({ ...(JSON.parse(row.spec) as object), ...found });
  return { ...row, spec, cut: missing.length === 0 ? "" : JSON.stringify(missing) };
}

/** What jobs refer to, by their ids. */
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

/** What these jobs, whose rows are there, leave out of their specs. Returns the bytes that are new in the store. */
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
    "The script of a job was removed for its age while it was copied. Send the request again.",
  );

/** The texts themselves go with a later sweep, unless somebody has taken them meanwhile. */
export async function removeJobTexts(db: Db, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length > 0) await db.deleteFrom("job_texts").where("job_id", "in", jobIds).execute();
}

/** Jobs that one statement of the migration reads. */
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

/** Jobs from before: one after another, since one may have many megabytes. */
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
