/** Changes what a team's warehouse says of a dataset, so that jobs see what the registry says. */
import type { DatabaseSync } from "node:sqlite";
import { rowsTable } from "../../datachain/rows-table.ts";
import { versionStates } from "../../datachain/statuses.ts";
import { columnsOf, isRealTable, quoted, realTable, transaction } from "./tables.ts";

export interface EditRequest {
  /** The uuid of one of its versions: a name may have changed on either side. */
  readonly version: string;
  /** What is left out stays as it is. */
  readonly name?: string;
  readonly description?: string;
  readonly attrs?: readonly string[];
}

/** A dataset that the warehouse does not have is nobody's there, and nothing is done. */
export function editDataset(metadata: DatabaseSync, rows: DatabaseSync, request: EditRequest): void {
  for (const table of ["namespaces", "projects", "datasets", "datasets_versions"]) realTable(metadata, table);
  const dataset = findDataset(metadata, request.version);
  if (!dataset) return;
  const { name } = request;
  // The rows first: cut short in between, the same change made again finds them renamed and goes on.
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

/** Versions that were removed have no rows. */
function renameTables(metadata: DatabaseSync, rows: DatabaseSync, dataset: Dataset, name: string): void {
  const same = metadata
    .prepare("select id from datasets where project_id = ? and name = ?")
    .get(dataset.project_id, name);
  if (same) throw new Error(`There is a dataset ${name} in the team's warehouse already`);
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
  if (isThere && isDone) throw new Error(`There is a table ${to} in the team's warehouse already`);
  if (isThere) rows.exec(`alter table ${quoted(from)} rename to ${quoted(to)}`);
}
