/** Frees the disk space of deleted rows, which SQLite otherwise keeps in its files for reuse. */
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { openDatabase } from "../open-warehouse.ts";
import { requireSound } from "./compare-versions.ts";

/** Share of empty pages above which a file is rewritten. */
const share = 0.1;

/** Compacts both files of a warehouse. The caller must ensure that no job is using it. */
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
