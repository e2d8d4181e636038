/**
 * Removes versions from a team's warehouse, as the library does. The rows are deleted, but the version number cannot be
 * used again.
 */
import type { DatabaseSync } from "node:sqlite";
import { rowsTable } from "../../datachain/rows-table.ts";
import { versionStates } from "../../datachain/statuses.ts";
import { libraryTime } from "../../datachain/times.ts";
import { columnsOf, isRealTable, quoted, realTable, transaction } from "./tables.ts";

export interface RemoveRequest {
  /** Uuids of the versions. Those that are missing or already removed are ignored. */
  readonly versions: readonly string[];
  /** ISO 8601 time in UTC. */
  readonly removedAt: string;
}

const { complete, removing, removed } = versionStates;

export function removeVersions(metadata: DatabaseSync, rows: DatabaseSync, request: RemoveRequest): void {
  for (const table of ["namespaces", "projects", "datasets"]) realTable(metadata, table);
  const keepsNumbers = columnsOf(metadata, "datasets_versions").has("removed_at");
  for (const uuid of request.versions) {
    const version = findVersion(metadata, uuid);
    if (version?.status !== complete && version?.status !== removing) continue;
    if (keepsNumbers) mark(metadata, version.id, removing, libraryTime(request.removedAt));
    const table = rowsTable(version);
    if (isRealTable(rows, table)) rows.exec(`drop table ${quoted(table)}`);
    if (keepsNumbers) mark(metadata, version.id, removed, libraryTime(request.removedAt));
    else forget(metadata, version.id);
  }
}

interface FoundVersion {
  readonly id: number;
  readonly status: number;
  readonly version: string;
  readonly namespace: string;
  readonly project: string;
  readonly name: string;
}

const findVersion = (metadata: DatabaseSync, uuid: string) =>
  metadata
    .prepare(
      `select datasets_versions.id, datasets_versions.status, datasets_versions.version, datasets.name,
      projects.name as project, namespaces.name as namespace from datasets_versions
      join datasets on datasets.id = datasets_versions.dataset_id
      join projects on projects.id = datasets.project_id
      join namespaces on namespaces.id = projects.namespace_id where datasets_versions.uuid = ?`,
    )
    .get(uuid) as FoundVersion | undefined;

const mark = (metadata: DatabaseSync, id: number, status: number, removedAt: string) =>
  metadata
    .prepare("update datasets_versions set status = ?, removed_at = coalesce(removed_at, ?) where id = ?")
    .run(status, removedAt, id);

/** Deletes a version's row. Used with older versions of the library, which do not keep removed versions. */
const forget = (metadata: DatabaseSync, id: number) =>
  transaction(metadata, () => {
    const { dataset_id } = metadata.prepare("select dataset_id from datasets_versions where id = ?").get(id) as {
      dataset_id: number;
    };
    metadata.prepare("delete from datasets_dependencies where source_dataset_version_id = ?").run(id);
    metadata
      .prepare(
        "update datasets_dependencies set dataset_id = null, dataset_version_id = null where dataset_version_id = ?",
      )
      .run(id);
    metadata.prepare("delete from datasets_versions where id = ?").run(id);
    const left = "select 1 from datasets_versions where dataset_id = datasets.id";
    metadata.prepare(`delete from datasets where id = ? and not exists (${left})`).run(dataset_id);
  });
