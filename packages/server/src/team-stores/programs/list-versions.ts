/** Which versions a team's store has: asked after a copy was put in its place. */
import { openDatabase, requireColumns, type StoreFiles } from "../open-store.ts";

export function listVersions({ metadata }: Pick<StoreFiles, "metadata">): string[] {
  const db = openDatabase(metadata, "read");
  requireColumns(db, "datasets_versions", ["uuid", "status"]);
  const rows = db.prepare("select uuid from datasets_versions where status = 4").all();
  return rows.map(({ uuid }) => String(uuid));
}
