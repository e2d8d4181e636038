/**
 * Long texts of jobs, keyed by hash and stored once per team, as plain text. The environment of a job is not among
 * these texts: it is secret, so it is encrypted and never shared.
 */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { type Db, isPostgres } from "../../drivers/store.ts";
import { parts } from "../batches.ts";
import { addUsage } from "../people/team-usage.ts";

export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/**
 * Returns which of these texts exist, and locks them against deletion until the write ends. SQLite has only one writer
 * and needs no lock.
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
 * Inserts the texts that do not exist yet, and returns their bytes. If two writes insert the same text at once, one
 * fails and is retried. Inserting in hash order avoids deadlocks.
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

/** Cursor of a walk over all texts. */
export interface TextKey {
  readonly team_id: number;
  readonly hash: string;
}
export const beforeAll: TextKey = { team_id: 0, hash: "" };

/** Lists the texts after this cursor, each with a flag that tells whether a job refers to it. */
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
 * Deletes those of the given texts that no job refers to. Locks the texts before it checks the references, so that a
 * text that a job has just started to use is kept. Returns the number of deleted texts.
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
