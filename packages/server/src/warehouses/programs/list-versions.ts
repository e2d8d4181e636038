/** Lists the complete versions in a team's warehouse, after a copy was restored. */
import { versionStates } from "../../datachain/statuses.ts";
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { openDatabase, requireColumns } from "../open-warehouse.ts";

export function listVersions({ metadata }: Pick<WarehouseFiles, "metadata">): string[] {
  const db = openDatabase(metadata, "read");
  requireColumns(db, "datasets_versions", ["uuid", "status"]);
  const rows = db.prepare("select uuid from datasets_versions where status = ?").all(versionStates.complete);
  return rows.map(({ uuid }) => String(uuid));
}
