/**
 * Creates a team's warehouse with the real `datachain` library and records it in the registry. The script runs
 * directly, not as a job.
 */
import { execFile } from "node:child_process";
import { chmod, chown, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { rowsTable } from "../../../server/src/datachain/rows-table.ts";
import { type Found, recordVersions } from "../../../server/src/domain/datasets/record-collected.ts";
import type { Store } from "../../../server/src/store/drivers/store.ts";
import { WarehouseFolder } from "../../../server/src/warehouses/warehouse-folder.ts";
import { datachainPython } from "../programs/datachain-install.ts";

/** Creates the namespace and the project. For a job, the server creates them. */
const preamble = `import datachain as dc
from datachain.query.session import Session
metastore = Session.get().catalog.metastore
metastore.create_namespace("@admin", validate=False)
metastore.create_project("@admin", "default", validate=False)
`;

export const warehouseFolder = (dataDir: string, teamId: number) =>
  new WarehouseFolder(join(dataDir, "team-stores"), teamId);

/** Runs a script in a team's warehouse and returns its output. Short dataset names refer to @admin.default. */
export async function runWithLibrary(dataDir: string, script: string, teamId = 1): Promise<string> {
  const store = warehouseFolder(dataDir, teamId);
  store.make();
  const { data: folder, metadata, rows } = store;
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    DATACHAIN_NO_ANALYTICS: "1",
    DATACHAIN_METASTORE_ARG_DB_FILE: metadata,
    DATACHAIN_WAREHOUSE_ARG_DB_FILE: rows,
    DATACHAIN_ROOT_DIR: folder,
    DATACHAIN_NAMESPACE: "@admin",
    DATACHAIN_PROJECT: "default",
  };
  const { stdout } = await promisify(execFile)(datachainPython, ["-c", preamble + script], { env, cwd: folder });
  await share(store);
  return stdout;
}

/** Sets the owner and mode of the database files as a job of the team would. */
async function share(store: WarehouseFolder): Promise<void> {
  const group = store.group();
  for (const name of await readdir(store.data)) {
    if (!name.includes(".db")) continue;
    await chmod(join(store.data, name), 0o660);
    if (group !== undefined) await chown(join(store.data, name), group, group);
  }
}

/** Records every complete version of the warehouse in the registry. */
export async function recordWarehouse(store: Store, dataDir: string, teamId = 1): Promise<void> {
  const metadata = new DatabaseSync(warehouseFolder(dataDir, teamId).metadata, { readOnly: true });
  const found = readWarehouse(metadata);
  metadata.close();
  await store.write((db) => recordVersions(db, teamId, found));
}

const time = (text: string | null) => text && new Date(`${text.replace(" ", "T").slice(0, 23)}Z`).toISOString();

function readWarehouse(metadata: DatabaseSync): Found {
  const rows = metadata
    .prepare(
      `select dv.*, d.uuid as dataset_uuid, d.description, d.attrs, d.name, p.name as project, n.name as namespace
      from datasets_versions dv join datasets d on d.id = dv.dataset_id
      join projects p on p.id = d.project_id join namespaces n on n.id = p.namespace_id
      where dv.status in (4, 8) and n.name <> 'system' and d.name not like 'session_%'`,
    )
    .all() as Record<string, string | number | null>[];
  const needs = metadata
    .prepare(
      `select s.uuid as version, v.uuid as uuid from datasets_dependencies dd
      join datasets_versions s on s.id = dd.source_dataset_version_id
      join datasets_versions v on v.id = dd.dataset_version_id`,
    )
    .all() as { version: string; uuid: string }[];
  return { versions: rows.map((row) => foundVersion(row, needs)), jobs: [] };
}

function foundVersion(
  row: Record<string, string | number | null>,
  needs: readonly { version: string; uuid: string }[],
) {
  const text = (name: string) => String(row[name] ?? "");
  const maybe = (name: string) => row[name] as string | null;
  const place = { namespace: text("namespace"), project: text("project"), name: text("name") };
  return {
    ...place,
    uuid: text("uuid"),
    version: text("version"),
    status: Number(row["status"]),
    rows_table: rowsTable({ ...place, version: text("version") }),
    num_objects: row["num_objects"] as number | null,
    size: row["size"] as number | null,
    feature_schema: text("feature_schema"),
    schema: text("schema"),
    preview: maybe("preview"),
    sources: text("sources"),
    query_script: text("query_script"),
    script_output: text("script_output"),
    error_message: text("error_message"),
    error_stack: text("error_stack"),
    content_hash: maybe("content_hash"),
    job_id: null,
    created_at: time(text("created_at")) ?? "",
    finished_at: time(maybe("finished_at")),
    removed_at: time(maybe("removed_at")),
    dataset: { uuid: text("dataset_uuid"), description: maybe("description"), attrs: text("attrs") || "[]" },
    needs: needs.filter(({ version }) => version === row["uuid"]),
  };
}
