/** How the dataset library in a job finds the team's warehouse, and the job in it. */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { oldestLibrary } from "@millrace/contract";
import type { LocalDatasets } from "../../warehouse-view.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";

/** Where the library finds the team's warehouse, and where it keeps what is the job's alone. */
export const libraryVariables = ({ jobId }: LocalSpec, { metadata, rows, home }: LocalDatasets, root: string) => ({
  DATACHAIN_JOB_ID: jobId,
  DATACHAIN_IS_STUDIO: "1",
  DATACHAIN_METASTORE_ARG_DB_FILE: metadata,
  DATACHAIN_WAREHOUSE_ARG_DB_FILE: rows,
  DATACHAIN_ROOT_DIR: root,
  DATACHAIN_PROJECT: `${home.namespace}.${home.project}`,
});

/** Numbers that the library has for a job that runs, and for kinds of queries. */
const running = 4;
const kinds: Record<LocalSpec["queryType"], number> = { PYTHON: 1, SHELL: 2, TYPESCRIPT: 2 };

/** The job and its creator's namespace as rows of the library's own tables. */
export function warehouseRecord(spec: LocalSpec, use: LocalDatasets): string {
  const { made, home, createdAt, workers, runGroupId, rerunFromJobId } = use;
  const created_at = createdAt.replace("T", " ").replace("Z", "000");
  return JSON.stringify({
    oldest_library: oldestLibrary,
    made,
    namespace: { uuid: randomUUID(), name: home.namespace, created_at },
    job: {
      id: spec.jobId,
      name: spec.name ?? "",
      status: running,
      created_at,
      query: spec.query,
      query_type: kinds[spec.queryType],
      workers,
      python_version: spec.pythonVersion,
      error_message: "",
      error_stack: "",
      params: JSON.stringify(spec.params),
      metrics: "{}",
      run_group_id: runGroupId,
      rerun_from_job_id: rerunFromJobId,
      is_remote_execution: 0,
    },
  });
}

/** A folder of its own among the job's input: a module beside the others would hide one that a script means to import. */
export const pluginFolder = "library";
export const pluginModule = `${pluginFolder}/millrace_datasets.py`;

export const readPlugin = () => readFile(join(import.meta.dirname, "datasets.py"), "utf8");

/** The library asks every installed package for plug-ins; a folder on Python's path that says it is one is enough. */
export function writePlugin(folder: AttemptFolder, uid: number | undefined, module: string, record: string): void {
  const described = `${pluginFolder}/millrace_datasets-1.dist-info`;
  for (const name of [pluginFolder, described]) folder.makeInput(name, uid);
  const files = {
    [pluginModule]: module,
    [`${pluginFolder}/datasets.json`]: record,
    [`${described}/METADATA`]: "Metadata-Version: 2.1\nName: millrace-datasets\nVersion: 1\n",
    [`${described}/entry_points.txt`]: "[datachain.callables]\nmillrace = millrace_datasets:register\n",
  };
  for (const [name, text] of Object.entries(files)) folder.writeInput(name, text, uid);
}

/** Before what the job or the operator put on Python's path. */
export const withPlugin = (folder: AttemptFolder, path: string | undefined) => ({
  PYTHONPATH: [folder.file(`input/${pluginFolder}`), ...(path ? [path] : [])].join(":"),
});
