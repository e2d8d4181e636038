/** Compares the versions in the registry with those in a team's warehouse, rows included. */
import type { DatabaseSync } from "node:sqlite";
import { rowsTable } from "../../datachain/rows-table.ts";
import { versionStates } from "../../datachain/statuses.ts";
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { openDatabase, requireColumns } from "../open-warehouse.ts";
import { Unusable, unusable } from "../unusable.ts";

/** A version in the registry, with the table that should have its rows. */
export interface Registered {
  readonly uuid: string;
  readonly table: string;
}

export interface Compared {
  /** Uuids of registered versions that are missing in the warehouse, or whose rows are missing there. */
  readonly missing: readonly string[];
  /** Uuids of registered versions whose dataset has another name in the warehouse. */
  readonly renamed: readonly string[];
}

export interface OpenWarehouse {
  readonly metadata: DatabaseSync;
  readonly rows: DatabaseSync;
}

const everyVersion = `select v.uuid, v.version, d.name, p.name as project, n.name as namespace
  from datasets_versions v join datasets d on d.id = v.dataset_id join projects p on p.id = d.project_id
  join namespaces n on n.id = p.namespace_id where v.status = ${versionStates.complete}`;

/** Returns the name of the table with the rows of each version, by the version's uuid. */
function tablesOf(metadata: DatabaseSync): Map<string, string> {
  requireColumns(metadata, "namespaces", ["id", "name"]);
  requireColumns(metadata, "projects", ["id", "name", "namespace_id"]);
  requireColumns(metadata, "datasets", ["id", "project_id", "name"]);
  requireColumns(metadata, "datasets_versions", ["uuid", "dataset_id", "version", "status"]);
  const tables = new Map<string, string>();
  for (const row of metadata.prepare(everyVersion).iterate()) {
    const text = (key: string) => String(row[key]);
    const place = { namespace: text("namespace"), project: text("project"), name: text("name") };
    tables.set(text("uuid"), rowsTable({ ...place, version: text("version") }));
  }
  return tables;
}

function tablesIn(rows: DatabaseSync): Set<string> {
  const found = rows.prepare("select name from sqlite_schema where type = 'table'").iterate();
  return new Set([...found].map(({ name }) => String(name)));
}

/** Whether every version has its table of rows. While a version is being renamed, the table is missing for a moment. */
export function isWhole({ metadata, rows }: OpenWarehouse): boolean {
  try {
    const present = tablesIn(rows);
    return [...tablesOf(metadata).values()].every((table) => present.has(table));
  } catch (error) {
    // The library version is unknown, so its tables cannot be checked.
    if (error instanceof Unusable) return true;
    throw error;
  }
}

export function compare({ metadata, rows }: OpenWarehouse, registered: readonly Registered[]): Compared {
  const tables = tablesOf(metadata);
  const present = tablesIn(rows);
  const found = registered.map(({ uuid, table }) => ({ uuid, table, actual: tables.get(uuid) }));
  const isMissing = ({ actual }: (typeof found)[number]) => actual === undefined || !present.has(actual);
  return {
    missing: found.filter(isMissing).map(({ uuid }) => uuid),
    renamed: found.filter((one) => !isMissing(one) && one.actual !== one.table).map(({ uuid }) => uuid),
  };
}

export function requireSound(db: DatabaseSync): void {
  const [result] = Object.values(db.prepare("pragma quick_check(1)").get() ?? {});
  if (result !== "ok") throw unusable(`it is damaged (${String(result).slice(0, 200)})`);
}

/** Checks the integrity of both files by reading them completely, then compares the versions. */
export function compareVersions(files: WarehouseFiles, { registered }: { readonly registered: readonly Registered[] }) {
  const store = { metadata: openDatabase(files.metadata, "read"), rows: openDatabase(files.rows, "read") };
  for (const db of Object.values(store)) requireSound(db);
  return compare(store, registered);
}
