/**
 * What a job is, in two sizes. `jobs.spec` is as much of it as lists show; where that is not all, `cut` names the fields
 * and `large_specs` has everything. Lists, which read many rows, so never come near a script of a megabyte: in one row
 * with the rest, even the columns behind it could be reached only through all its pages.
 */
import { answerLimits } from "@millrace/contract";
import { sql } from "kysely";
import { beginningOf } from "./short-texts.ts";
import type { Db } from "./store.ts";

/** The columns of `jobs`. */
export interface ListedSpec {
  readonly spec: string;
  /** JSON array of the fields that are not whole; empty: all are. */
  readonly cut: string;
}

const longTexts = ["query", "requirements", "repository", "name"] as const;

export function listedSpec(whole: string): ListedSpec {
  if (whole.length <= answerLimits.listed) return { spec: whole, cut: "" };
  const spec = JSON.parse(whole) as Record<string, unknown>;
  const cut: string[] = [];
  for (const name of longTexts) {
    const text = spec[name];
    if (typeof text !== "string" || text.length <= answerLimits.listed) continue;
    spec[name] = beginningOf(text);
    cut.push(name);
  }
  if (JSON.stringify(spec["params"] ?? {}).length > answerLimits.listed) {
    spec["params"] = {};
    cut.push("params");
  }
  return cut.length === 0 ? { spec: whole, cut: "" } : { spec: JSON.stringify(spec), cut: JSON.stringify(cut) };
}

/** Keeps what `jobs.spec` leaves out, in the place of what was kept before. */
export async function putLargeSpec(db: Db, jobId: string, whole: string, { cut }: ListedSpec): Promise<void> {
  if (cut === "") return;
  await db
    .insertInto("large_specs")
    .values({ job_id: jobId, spec: whole })
    .onConflict((c) => c.column("job_id").doUpdateSet({ spec: whole }))
    .execute();
}

export const removeLargeSpec = (db: Db, jobId: string) =>
  db.deleteFrom("large_specs").where("job_id", "=", jobId).execute();

/** All of what a job is, in a statement that reads one job. */
export const wholeSpec = sql<string>`coalesce((select large_specs.spec from large_specs
  where large_specs.job_id = jobs.id and jobs.cut <> ''), jobs.spec)`;

/** Jobs that one statement of the migration reads. */
const readAtOnce = 20;

/** Jobs from before: one after another, since one may have many megabytes. */
export async function splitSpecs(db: Db): Promise<void> {
  for (let after = ""; ; ) {
    const large = db.selectFrom("jobs").select("id").where(sql`octet_length(spec)`, ">", answerLimits.listed);
    const ids = await large.where("id", ">", after).orderBy("id").limit(readAtOnce).execute();
    for (const { id } of ids) {
      const { spec } = await db.selectFrom("jobs").select("spec").where("id", "=", id).executeTakeFirstOrThrow();
      const listed = listedSpec(spec);
      await putLargeSpec(db, id, spec, listed);
      if (listed.cut !== "") await db.updateTable("jobs").set(listed).where("id", "=", id).execute();
    }
    const last = ids.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
