/** Queries on the tags of jobs, which lists filter by. */

import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { eachPart } from "../batches.ts";

export const insertTags = (db: Db, teamId: number, jobId: string, tags: readonly string[]): Promise<void> =>
  insertTagRows(
    db,
    tags.map((tag) => ({ team_id: teamId, tag, job_id: jobId })),
  );

/** Inserts the tags of many jobs at once. */
export const insertTagRows = (db: Db, rows: readonly Tables["job_tags"][]): Promise<void> =>
  eachPart(rows, (part) => db.insertInto("job_tags").values(part).execute());
