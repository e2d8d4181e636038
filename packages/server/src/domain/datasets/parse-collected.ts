/**
 * Validates the data that was read from a team's warehouse after a job, because jobs can write anything into the
 * warehouse. An invalid version is left out; everything else that the job did is recorded.
 */
import { replaceBareNumbers } from "@millrace/contract";
import { readLibraryTime } from "../../datachain/times.ts";
import type { NewVersionRow } from "../../store/queries/datasets/dataset-versions.ts";
import type { FullName } from "../../store/queries/datasets/datasets.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { canBeKept, readVersion } from "./dataset-names.ts";

type Fixed = "dataset_id" | "team_id" | "major" | "minor" | "patch";

/** A dataset version as it was found in a team's warehouse. */
export interface FoundVersion extends FullName, Omit<NewVersionRow, Fixed> {
  readonly dataset: { readonly uuid: string; readonly description: string | null; readonly attrs: string };
  /** Inputs of the version: other versions by uuid, storage by URI. */
  readonly needs: readonly ({ readonly uuid: string } | { readonly uri: string })[];
}

/** Changes that one job made to its team's datasets, and the job's metrics. */
export interface Collected {
  readonly versions: readonly FoundVersion[];
  /** Uuids of the versions that the job created (`isCreator` is true) or reused. */
  readonly jobs: readonly { readonly uuid: string; readonly isCreator: boolean }[];
  /** Uuids of versions that are no longer in the warehouse. */
  readonly removed: readonly string[];
  /** JSON object as text; null if the job wrote no metrics, or invalid ones. */
  readonly metrics: string | null;
}

/** Thrown when a job changed more than the registry can record. The message is for the job's owner. */
export class TooMuch extends Error {}

/** Maximum length of a field that has no limit of its own, in characters. */
const textLimit = 64 * 1024;
/** Maximum length of the JSON of a schema or preview, in characters. */
const documentLimit = 256 * 1024;
/** Maximum length of a script, in characters. */
const scriptLimit = 1024 * 1024;
/** Maximum length of a field that is read for every list of datasets, in characters. */
const listedLimit = 8 * 1024;
/** Maximum number of versions that one job may create or reuse. */
export const mostOfJob = 2000;
/** Maximum number of dependencies of one version. */
const needsOfOneLimit = 1000;
/**
 * Maximum number of dependencies of all versions of one job together. They are recorded in one transaction, while other
 * writers wait.
 */
const needsLimit = 20_000;
/**
 * Maximum length in bytes of one line that the child process prints after it has read the warehouse. The child process
 * leaves out texts that are too long, so a valid line is always shorter.
 */
const lineLimit = 16 * 1024 * 1024;
/** Maximum number of versions that one job may remove. */
const removedLimit = 100_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Parses the output of the child process that read the team's warehouse. The first line says what the job did, and each
 * other line is a version. Lines may be long, so other work gets the event loop before each version.
 */
export async function readCollected(lines: readonly Buffer[]): Promise<Collected> {
  const [head, ...rest] = lines;
  if (rest.length > mostOfJob) throw tooManyVersions();
  const did = parseLine(head);
  // Ignoring an unreadable line would silently keep versions that the job removed.
  if (did === undefined)
    throw new TooMuch("The job changed more datasets than the server can record. Split the job into smaller ones.");
  const { jobs, removed, metrics } = fieldsOf(did);
  const versions: FoundVersion[] = [];
  let needs = 0;
  for (const line of rest) {
    await nextLook();
    const version = readFound(fieldsOf(parseLine(line)));
    needs += version?.needs.length ?? 0;
    if (needs > needsLimit)
      throw new TooMuch(
        `The dataset versions of the job have more than ${needsLimit} dependencies. Split the job into several jobs.`,
      );
    if (version) versions.push(version);
  }
  return {
    versions,
    jobs: listOf(jobs, mostOfJob).flatMap((job) => {
      const { uuid, isCreator } = fieldsOf(job);
      return isUuid(uuid) ? [{ uuid, isCreator: isCreator === true }] : [];
    }),
    removed: listOf(removed, removedLimit).filter(isUuid),
    metrics: isJson(metrics, "object", textLimit) ? replaceBareNumbers(metrics, () => "null") : null,
  };
}

/** Parses a line as JSON; returns undefined if the line is missing, too long or invalid. */
function parseLine(line: Buffer | undefined): unknown {
  if (line === undefined || line.length > lineLimit) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

const tooManyVersions = (most = mostOfJob) =>
  new TooMuch(
    `The job created, reused or removed more than ${most} dataset versions. Split the job into several jobs.`,
  );

const tooManyNeeds = (most: number) =>
  new TooMuch(
    `A dataset version of the job has more than ${most} dependencies. Save the data as several datasets, each with fewer dependencies.`,
  );

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
/** Returns the value if it is an array, otherwise an empty array. Throws if the array is longer than `most`. */
function listOf(value: unknown, most: number, tooMany: (most: number) => TooMuch = tooManyVersions): unknown[] {
  if (!Array.isArray(value)) return [];
  if (value.length > most) throw tooMany(most);
  return value;
}

/** Validates a version. Returns undefined if a name, the version number, a uuid or the creation time is invalid. */
function readFound(row: Fields): FoundVersion | undefined {
  const { namespace, project, name, version, uuid } = row;
  const dataset = fieldsOf(row["dataset"]);
  const created = readLibraryTime(row["created_at"]);
  if (!isName(namespace) || !isName(project) || !isName(name) || !isUuid(uuid) || !isUuid(dataset["uuid"]))
    return undefined;
  if (typeof version !== "string" || version.startsWith("v") || !readVersion(version) || created === null)
    return undefined;
  return {
    ...{ namespace, project, name, version, uuid, status: 4, removed_at: null },
    dataset: { uuid: dataset["uuid"], ...aboutDataset(dataset) },
    rows_table: isText(row["rows_table"], listedLimit) ? row["rows_table"] : null,
    num_objects: readCount(row["num_objects"]),
    size: readCount(row["size"]),
    feature_schema: isJson(row["feature_schema"], "object") ? row["feature_schema"] : "{}",
    schema: isJson(row["schema"], "object") ? row["schema"] : "{}",
    preview: isJson(row["preview"], "array") ? row["preview"] : null,
    sources: textOf(row["sources"]),
    query_script: textOf(row["query_script"], scriptLimit),
    script_output: textOf(row["script_output"]),
    error_message: textOf(row["error_message"]),
    error_stack: textOf(row["error_stack"]),
    content_hash: isText(row["content_hash"], listedLimit) ? row["content_hash"] : null,
    job_id: isUuid(row["job_id"]) ? row["job_id"] : null,
    created_at: created,
    finished_at: readLibraryTime(row["finished_at"]),
    needs: listOf(row["needs"], needsOfOneLimit, tooManyNeeds).flatMap((need) => readNeed(fieldsOf(need))),
  };
}

const aboutDataset = ({ description, attrs }: Fields) => ({
  description: isText(description) ? description : null,
  attrs: isJson(attrs, "array", textLimit) ? attrs : "[]",
});

function readNeed({ uuid, uri }: Fields): FoundVersion["needs"] {
  if (isUuid(uuid)) return [{ uuid }];
  return isName(uri) ? [{ uri }] : [];
}

/** Returns whether a value is well-formed text without NUL, as PostgreSQL requires, and not longer than the limit. */
const isText = (value: unknown, limit = textLimit): value is string =>
  typeof value === "string" && value.length <= limit && !value.includes("\0") && value.isWellFormed();
const textOf = (value: unknown, limit = textLimit) => (isText(value, limit) ? value : "");
const isName = (value: unknown): value is string => isText(value) && value !== "" && canBeKept(value);
const isUuid = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/**
 * Returns whether a value is the text of a JSON object or of a JSON array, as `kind` says. Bare NaN and Infinity, which
 * the library writes, are accepted.
 */
function isJson(value: unknown, kind: "object" | "array", limit = documentLimit): value is string {
  if (!isText(value, limit)) return false;
  try {
    const parsed: unknown = JSON.parse(replaceBareNumbers(value, () => "null"));
    return typeof parsed === "object" && parsed !== null && Array.isArray(parsed) === (kind === "array");
  } catch {
    return false;
  }
}

/** Parses a count that was sent as decimal digits; returns null for any other value. */
function readCount(value: unknown): number | null {
  const count = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}
