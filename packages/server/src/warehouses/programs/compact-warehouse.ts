/** Gives back the space of what was removed: SQLite keeps it in its files for what comes next. */
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { openDatabase } from "../open-warehouse.ts";
import { requireSound } from "./compare-versions.ts";

/** Of a file that are empty before it is written anew. */
const share = 0.1;

/** Only while nobody else works with the store. */
export function compactWarehouse(files: WarehouseFiles): void {
  for (const part of ["metadata", "rows"] as const) {
    const db = openDatabase(files[part], "write");
    const pragma = (name: string) => Number(Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0]);
    requireSound(db);
    if (pragma("freelist_count") > share * pragma("page_count")) db.exec("vacuum");
    db.exec("pragma wal_checkpoint(truncate)");
    db.close();
  }
}
