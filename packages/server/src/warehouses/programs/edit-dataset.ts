/** Edits a dataset in a team's warehouse, so that jobs see the same values as the registry shows. */
import type { DatabaseSync } from "node:sqlite";
import { rowsTable } from "../../datachain/rows-table.ts";
import { versionStates } from "../../datachain/statuses.ts";
import { columnsOf, isRealTable, quoted, realTable, transaction } from "./tables.ts";

export interface EditRequest {
  /**
   * Uuid of any version of the dataset. It identifies the dataset, because the name may differ between registry and
   * warehouse.
   */
  readonly version: string;
  /** Fields that are undefined stay unchanged. */
  readonly name?: string;
  readonly description?: string;
  readonly attrs?: readonly string[];
}

/** Applies the changes. Does nothing if the warehouse does not have the dataset. */
export function editDataset(metadata: DatabaseSync, rows: DatabaseSync, request: EditRequest): void {
  for (const table of ["namespaces", "projects", "datasets", "datasets_versions"]) realTable(metadata, table);
  const dataset = findDataset(metadata, request.version);
  if (!dataset) return;
  const { name } = request;
  // Rows first: if the program is interrupted, repeating the change finds the tables renamed and continues.
  if (name !== undefined && name !== dataset.name) renameTables(metadata, rows, dataset, name);
  const columns = columnsOf(metadata, "datasets");
  const changes = Object.entries({
    name,
    description: request.description,
    attrs: request.attrs && JSON.stringify(request.attrs),
  }).filter((change): change is [string, string] => change[1] !== undefined && columns.has(change[0]));
  if (changes.length === 0) return;
  const assignments = changes.map(([column]) => `${column} = ?`).join(", ");
  metadata
    .prepare(`update datasets set ${assignments} where id = ?`)
    .run(...changes.map(([, value]) => value), dataset.id);
}

interface Dataset {
  readonly id: number;
  readonly project_id: number;
  readonly namespace: string;
  readonly project: string;
  readonly name: string;
}

const findDataset = (metadata: DatabaseSync, version: string) =>
  metadata
    .prepare(
      `select datasets.id, datasets.project_id, datasets.name, projects.name as project, namespaces.name as namespace
      from datasets_versions join datasets on datasets.id = datasets_versions.dataset_id
      join projects on projects.id = datasets.project_id
      join namespaces on namespaces.id = projects.namespace_id where datasets_versions.uuid = ?`,
    )
    .get(version) as Dataset | undefined;

/** Renames the tables with the rows of all versions. Removed versions have no such table. */
function renameTables(metadata: DatabaseSync, rows: DatabaseSync, dataset: Dataset, name: string): void {
  const same = metadata
    .prepare("select id from datasets where project_id = ? and name = ?")
    .get(dataset.project_id, name);
  if (same) throw new Error(`The team's warehouse already has a dataset ${name}. Choose another name.`);
  const versions = metadata
    .prepare("select version from datasets_versions where dataset_id = ? and status not in (?, ?)")
    .all(dataset.id, versionStates.removing, versionStates.removed) as { version: string }[];
  transaction(rows, () => {
    for (const { version } of versions)
      renameTable(rows, rowsTable({ ...dataset, version }), rowsTable({ ...dataset, name, version }));
  });
}

function renameTable(rows: DatabaseSync, from: string, to: string): void {
  const [isThere, isDone] = [isRealTable(rows, from), isRealTable(rows, to)];
  if (isThere && isDone)
    throw new Error(
      `The team's warehouse already has a table ${to}, so the dataset cannot get this name. Choose another name.`,
    );
  if (isThere) rows.exec(`alter table ${quoted(from)} rename to ${quoted(to)}`);
}
