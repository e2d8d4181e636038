/**
 * What was read back from a team's store, checked: jobs could have written anything there. A version that is not right is
 * left out; the rest of what its job did still counts.
 */
import { canBeKept, readVersion } from "./dataset-names.ts";
import type { FoundVersion } from "./record-versions.ts";

export interface Collected {
  readonly versions: readonly FoundVersion[];
  readonly jobs: readonly { readonly uuid: string; readonly isCreator: boolean }[];
  /** Versions that are there no longer, by uuid. */
  readonly removed: readonly string[];
  /** JSON text of an object; null: none, or nothing that could be kept. */
  readonly metrics: string | null;
}

/** Of any one text, in characters. */
const textLimit = 4 * 1024 * 1024;
const metricsLimit = 64 * 1024;
const countLimit = 100_000;

type Fields = Readonly<Record<string, unknown>>;

export function readCollected(answer: unknown): Collected {
  const { versions, jobs, removed, metrics } = fieldsOf(answer);
  return {
    versions: listOf(versions).flatMap((version) => readFound(fieldsOf(version)) ?? []),
    jobs: listOf(jobs).flatMap((job) => {
      const { uuid, isCreator } = fieldsOf(job);
      return isUuid(uuid) ? [{ uuid, isCreator: isCreator === true }] : [];
    }),
    removed: listOf(removed).filter(isUuid),
    metrics: isJson(metrics, "object", metricsLimit) ? metrics : null,
  };
}

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, countLimit) : []);

/** Undefined: something that has no right name, or no right number, is not to be found by anybody. */
function readFound(row: Fields): FoundVersion | undefined {
  const { namespace, project, name, version, uuid } = row;
  const dataset = fieldsOf(row["dataset"]);
  const created = readMoment(row["created_at"]);
  if (!isName(namespace) || !isName(project) || !isName(name) || !isUuid(uuid) || !isUuid(dataset["uuid"]))
    return undefined;
  if (typeof version !== "string" || version.startsWith("v") || !readVersion(version) || created === null)
    return undefined;
  return {
    ...{ namespace, project, name, version, uuid, status: 4, removed_at: null },
    dataset: { uuid: dataset["uuid"], ...aboutDataset(dataset) },
    rows_table: isText(row["rows_table"]) ? row["rows_table"] : null,
    num_objects: readCount(row["num_objects"]),
    size: readCount(row["size"]),
    feature_schema: isJson(row["feature_schema"], "object") ? row["feature_schema"] : "{}",
    schema: isJson(row["schema"], "object") ? row["schema"] : "{}",
    preview: isJson(row["preview"], "array") ? row["preview"] : null,
    sources: textOf(row["sources"]),
    query_script: textOf(row["query_script"]),
    script_output: textOf(row["script_output"]),
    error_message: textOf(row["error_message"]),
    error_stack: textOf(row["error_stack"]),
    content_hash: isText(row["content_hash"]) ? row["content_hash"] : null,
    job_id: isUuid(row["job_id"]) ? row["job_id"] : null,
    created_at: created,
    finished_at: readMoment(row["finished_at"]),
    needs: listOf(row["needs"]).flatMap((need) => readNeed(fieldsOf(need))),
  };
}

const aboutDataset = ({ description, attrs }: Fields) => ({
  description: isText(description) ? description : null,
  attrs: isJson(attrs, "array") ? attrs : "[]",
});

function readNeed({ uuid, uri }: Fields): FoundVersion["needs"] {
  if (isUuid(uuid)) return [{ uuid }];
  return isName(uri) ? [{ uri }] : [];
}

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length <= textLimit && !value.includes("\0");
const textOf = (value: unknown) => (isText(value) ? value : "");
const isName = (value: unknown): value is string => isText(value) && value !== "" && canBeKept(value);
const isUuid = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** Kept as text, but only text that is what it says: it goes into answers as it is. */
function isJson(value: unknown, kind: "object" | "array", limit = textLimit): value is string {
  if (!isText(value) || value.length > limit) return false;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "object" && parsed !== null && Array.isArray(parsed) === (kind === "array");
  } catch {
    return false;
  }
}

function readCount(value: unknown): number | null {
  const count = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** `2026-01-31 08:30:00.123456`, with or without an offset of zero. */
function readMoment(value: unknown): string | null {
  const match =
    typeof value === "string" ? /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?(?:\+00:00|Z)?$/.exec(value) : null;
  const time = match ? Date.parse(`${match[1]}T${match[2]}${(match[3] ?? ".0").slice(0, 4)}Z`) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
