/** Audit rows in the store: added, read, removed by age; never changed. */
import type { Insertable } from "kysely";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export const insertAudit = (db: Db, row: Insertable<Tables["audit"]>) => db.insertInto("audit").values(row).execute();
