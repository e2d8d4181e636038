/**
 * Long texts, each kept once for its team, by what it says: whatever has the same text refers to the same row. Nothing
 * here is secret beyond what lies beside it in clear; environments are, and are never shared.
 */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { type Db, isPostgres } from "../../drivers/store.ts";
import { parts } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";

export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * Which of these there are. Until the end of the write nobody removes them: whoever wants to waits, or finds that they
 * are in use. SQLite has one writer anyway.
 */
export async function holdTexts(db: Db, teamId: number, hashes: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const part of parts([...new Set(hashes)])) {
    const query = db.selectFrom("texts").select("hash").where("team_id", "=", teamId).where("hash", "in", part);
    for (const { hash } of await (isPostgres(db) ? query.forKeyShare() : query).execute()) found.add(hash);
  }
  return found;
}

/**
 * Keeps those that are not there yet, and returns their bytes. Two that bring the same new text at once collide, and the
 * write of one of them runs again. In one order for all, so that no two wait for each other.
 */
export async function putTexts(db: Db, teamId: number, texts: ReadonlyMap<string, string>): Promise<number> {
  const known = await holdTexts(db, teamId, [...texts.keys()]);
  let added = 0;
  for (const [hash, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (known.has(hash)) continue;
    const bytes = Buffer.byteLength(text);
    await db.insertInto("texts").values({ team_id: teamId, hash, bytes, text }).execute();
    added += bytes;
  }
  await addUsage(db, teamId, "texts", added);
  return added;
}

/** Where a walk over all texts stands. */
export interface TextKey {
  readonly team_id: number;
  readonly hash: string;
}
export const beforeAll: TextKey = { team_id: 0, hash: "" };

/** Texts after this one, by key, each with whether anything refers to it. */
export async function textsAfter(db: Db, { team_id, hash }: TextKey, limit: number) {
  const used = sql<number>`case when exists (select 1 from job_texts
    where job_texts.team_id = texts.team_id and job_texts.hash = texts.hash) then 1 else 0 end`;
  return db
    .selectFrom("texts")
    .select(["team_id", "hash", used.as("used")])
    .where(sql<boolean>`(team_id, hash) > (${team_id}, ${hash})`)
    .orderBy("team_id")
    .orderBy("hash")
    .limit(limit)
    .execute();
}

/**
 * Removes those to which nothing refers, of these. Locked first, and looked at again after that: a job that took one
 * meanwhile is seen, and one that is taking it now keeps it. Returns how many.
 */
export async function removeUnused(db: Db, keys: readonly TextKey[]): Promise<number> {
  let removed = 0;
  for (const [teamId, all] of Map.groupBy(keys, ({ team_id }) => team_id))
    for (const part of parts(all.map(({ hash }) => hash))) {
      const query = db.selectFrom("texts").select("hash").where("team_id", "=", teamId).where("hash", "in", part);
      const locked = await (isPostgres(db) ? query.forUpdate().skipLocked() : query).execute();
      if (locked.length === 0) continue;
      const hashes = locked.map(({ hash }) => hash);
      const rows = await db
        .deleteFrom("texts")
        .where("team_id", "=", teamId)
        .where("hash", "in", hashes)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("job_texts")
                .select("job_id")
                .whereRef("job_texts.team_id", "=", "texts.team_id")
                .whereRef("job_texts.hash", "=", "texts.hash"),
            ),
          ),
        )
        .returning("bytes")
        .execute();
      removed += rows.length;
      await addUsage(db, teamId, "texts", -rows.reduce((sum, { bytes }) => sum + bytes, 0));
    }
  return removed;
}
