/**
 * Runs after a job. Records in the team's warehouse how the job ended, which the library's garbage collection needs.
 * Then reads which versions the job created or reused, and their dependencies.
 */
import type { DatabaseSync } from "node:sqlite";
import { storageUri } from "../../datachain/listing-names.ts";
import { isReserved } from "../../datachain/names.ts";
import { rowsTable } from "../../datachain/rows-table.ts";
import { versionStates } from "../../datachain/statuses.ts";
import type { WarehouseFiles } from "../../datachain/variables.ts";
import { openDatabase, requireColumns } from "../open-warehouse.ts";
import { columnsOf, isRealTable } from "./tables.ts";

export interface CollectRequest {
  readonly jobId: string;
  /** One of the status codes in `jobEnds`. */
  readonly status: number;
  /** Time in the library's format. */
  readonly finishedAt: string;
  readonly startedAt: string;
  readonly errorMessage: string;
}

const { created, failed, complete } = versionStates;

/** Maximum number of characters of a job's metrics. Longer metrics are not stored. */
const mostMetrics = 65_536;
/** Maximum number of characters of any other text. Longer texts are not stored. */
const mostText = 1_048_576;
/**
 * Maximum number of dependencies of a version that are read. It is one more than the registry accepts, so that the
 * registry rejects a job with too many.
 */
const mostNeeds = 1001;

export function collect(files: Pick<WarehouseFiles, "metadata">, request: CollectRequest) {
  const metadata = openDatabase(files.metadata, "write");
  check(metadata);
  settle(metadata, request);
  metadata.exec("begin");
  const linked = versionsOfJob(metadata, request.jobId);
  const ids = new Set([...linked.keys(), ...needsOf(metadata, [...linked.keys()]).flatMap(({ id }) => id ?? [])]);
  const found = [...ids].flatMap((id) => describe(metadata, id) ?? []);
  return {
    versions: found,
    jobs: [...linked].map(([id, isCreator]) => ({ uuid: uuidOf(metadata, id), isCreator })),
    removed: removedSince(metadata, request.startedAt),
    metrics: metricsOf(metadata, request.jobId),
  };
}

function check(db: DatabaseSync): void {
  requireColumns(db, "jobs", ["id", "status", "finished_at", "error_message", "metrics"]);
  requireColumns(db, "namespaces", ["id", "name"]);
  requireColumns(db, "projects", ["id", "name", "namespace_id"]);
  requireColumns(db, "datasets", ["id", "uuid", "project_id", "name", "description", "attrs"]);
  requireColumns(db, "datasets_versions", ["id", "uuid", "dataset_id", "version", "status", "created_at", "job_id"]);
  requireColumns(db, "datasets_dependencies", ["source_dataset_version_id", "dataset_version_id"]);
}

/** Writes the job's end in one short transaction, so that jobs do not wait long for the write lock. */
function settle(db: DatabaseSync, { jobId, status, finishedAt, errorMessage }: CollectRequest): void {
  db.exec("begin immediate");
  db.prepare("update jobs set status = ?, finished_at = ?, error_message = ? where id = ? and status <> ?").run(
    status,
    finishedAt,
    errorMessage,
    jobId,
    status,
  );
  db.prepare("update datasets_versions set status = ? where job_id = ? and status = ?").run(failed, jobId, created);
  db.exec("commit");
}

/**
 * Returns the complete versions of the job as a map from the version's id. The value is true if the job created the
 * version, and false if it reused the version.
 */
function versionsOfJob(db: DatabaseSync, jobId: string): Map<number, boolean> {
  const known = isRealTable(db, "dataset_version_jobs");
  // Older versions of the library have no such table and record only the creator.
  const query = known
    ? `select v.id, j.is_creator from dataset_version_jobs j join datasets_versions v on v.id = j.dataset_version_id
       where j.job_id = ? and v.status = ${complete}`
    : `select id, 1 as is_creator from datasets_versions where job_id = ? and status = ${complete}`;
  const rows = db.prepare(query).all(jobId);
  return new Map(rows.map(({ id, is_creator }) => [id as number, Boolean(Number(is_creator))]));
}

interface Needed {
  /** Id of a version; undefined for a storage listing. */
  readonly id?: number;
  readonly uuid?: string;
  readonly uri?: string;
}

const whole = `datasets_versions v join datasets d on d.id = v.dataset_id join projects p on p.id = d.project_id
  join namespaces n on n.id = p.namespace_id`;

function needsOf(db: DatabaseSync, ids: readonly number[]): Needed[] {
  const query = db.prepare(`select v.id, v.uuid, d.name, p.name as project, n.name as namespace
    from datasets_dependencies x join ${whole.replace("datasets_versions v", "datasets_versions v on v.id = x.dataset_version_id")}
    where x.source_dataset_version_id = ? limit ${mostNeeds}`);
  return ids.flatMap((id) =>
    query.all(id).flatMap((row): Needed | [] => {
      const uri = storageUri(String(row["namespace"]), String(row["project"]), String(row["name"]));
      if (uri !== undefined) return { uri };
      return isReserved(String(row["name"])) ? [] : { id: row["id"] as number, uuid: String(row["uuid"]) };
    }),
  );
}

/**
 * Returns what the registry stores about a version; undefined if the version is incomplete or internal to the library.
 */
function describe(db: DatabaseSync, id: number) {
  const query = db.prepare(
    `select v.*, d.uuid as dataset_uuid, d.name, d.description, d.attrs, p.name as project, n.name as namespace
     from ${whole} where v.id = ?`,
  );
  query.setReadBigInts(true);
  const row = query.get(id);
  if (!row || Number(row["status"]) !== complete || isReserved(String(row["name"]))) return undefined;
  const called = (key: string) => String(row[key]).slice(0, mostText);
  const place = {
    namespace: called("namespace"),
    project: called("project"),
    name: called("name"),
    version: called("version"),
  };
  const texts = ["feature_schema", "schema", "preview", "sources", "query_script", "script_output"] as const;
  const others = ["error_message", "error_stack", "content_hash", "job_id", "created_at", "finished_at"] as const;
  const text = (key: string) => textOf(row[key], mostText);
  return {
    ...place,
    uuid: text("uuid"),
    dataset: { uuid: text("dataset_uuid"), description: text("description"), attrs: text("attrs") },
    // As text, because they may exceed the range of a number.
    ...{ num_objects: text("num_objects"), size: text("size") },
    ...Object.fromEntries([...texts, ...others].map((key) => [key, text(key)])),
    rows_table: rowsTable(place),
    needs: needsOf(db, [id]).map(({ uuid, uri }) => (uri === undefined ? { uuid } : { uri })),
  };
}

/** Returns a value as text; null if there is none or if it is too long. */
function textOf(value: unknown, most: number): string | null {
  const text = value === null || value === undefined ? null : String(value);
  return text === null || text.length > most ? null : text;
}

const uuidOf = (db: DatabaseSync, id: number) =>
  textOf(db.prepare("select uuid from datasets_versions where id = ?").get(id)?.["uuid"], mostText);

/** Returns the uuids of versions that were removed while the job ran, by this job or by another. */
function removedSince(db: DatabaseSync, since: string): string[] {
  if (!columnsOf(db, "datasets_versions").has("removed_at")) return [];
  const rows = db.prepare("select uuid from datasets_versions where removed_at >= ? limit 100000").all(since);
  return rows.map(({ uuid }) => String(uuid));
}

const metricsOf = (db: DatabaseSync, jobId: string) =>
  textOf(db.prepare("select metrics from jobs where id = ?").get(jobId)?.["metrics"], mostMetrics);
