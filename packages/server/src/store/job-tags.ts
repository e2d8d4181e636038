/** Tags of jobs, for finding them. */
import type { Db } from "./store.ts";

export async function insertTags(db: Db, teamId: number, jobId: string, tags: readonly string[]): Promise<void> {
  if (tags.length === 0) return;
  const rows = tags.map((tag) => ({ team_id: teamId, tag, job_id: jobId }));
  await db.insertInto("job_tags").values(rows).execute();
}
