/**
 * What was read back from a team's warehouse, checked: jobs could have written anything there. A version that is not right is
 * left out; the rest of what its job did still counts.
 */
import { replaceBareNumbers } from "@millrace/contract";
import { readLibraryTime } from "../../datachain/times.ts";
import type { NewVersionRow } from "../../store/queries/datasets/dataset-versions.ts";
import type { FullName } from "../../store/queries/datasets/datasets.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { canBeKept, readVersion } from "./dataset-names.ts";

type Fixed = "dataset_id" | "team_id" | "major" | "minor" | "patch";

export interface FoundVersion extends FullName, Omit<NewVersionRow, Fixed> {
  readonly dataset: { readonly uuid: string; readonly description: string | null; readonly attrs: string };
  /** Versions by their uuid, known before or found along with this one; anything else by its storage URI. */
  readonly needs: readonly ({ readonly uuid: string } | { readonly uri: string })[];
}

export interface Collected {
  readonly versions: readonly FoundVersion[];
  readonly jobs: readonly { readonly uuid: string; readonly isCreator: boolean }[];
  /** Versions that are there no longer, by uuid. */
  readonly removed: readonly string[];
  /** JSON text of an object; null: none, or nothing that could be kept. */
  readonly metrics: string | null;
}

/** A job that did more than any registry could keep: its message is for the job's owner. */
export class TooMuch extends Error {}

/** Of any one text, in characters; of what describes a version, which every answer about it holds; of a script. */
const textLimit = 64 * 1024;
const documentLimit = 256 * 1024;
const scriptLimit = 1024 * 1024;
/** Of what every list of versions or datasets reads. */
const listedLimit = 8 * 1024;
/** Versions of one job, and dependencies of one version. */
const countLimit = 1000;
/** Dependencies of all versions of one job: they are recorded in one write, and others wait for it. */
const needsLimit = 20_000;
/** Bytes of one line. The child drops texts that are beyond any limit, so a line of a store that is right is shorter. */
const lineLimit = 16 * 1024 * 1024;
const removedLimit = 100_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the lines that the team's warehouse answered: the first says what the job did, each of the others is a version. The
 * event loop goes round between lines, since a job decides how long they are.
 */
export async function readCollected(lines: readonly Buffer[]): Promise<Collected> {
  const [head, ...rest] = lines;
  if (rest.length > 2 * countLimit) throw tooManyVersions();
  const did = parseLine(head);
  // Taken for nothing, versions that the job removed would stay, and nobody would be told.
  if (did === undefined) throw new TooMuch("What the job did to the team's datasets is more than can be read back.");
  const { jobs, removed, metrics } = fieldsOf(did);
  const versions: FoundVersion[] = [];
  let needs = 0;
  for (const line of rest) {
    await nextLook();
    const version = readFound(fieldsOf(parseLine(line)));
    needs += version?.needs.length ?? 0;
    if (needs > needsLimit)
      throw new TooMuch(`The dataset versions of the job have more than ${needsLimit} dependencies.`);
    if (version) versions.push(version);
  }
  return {
    versions,
    jobs: listOf(jobs, countLimit).flatMap((job) => {
      const { uuid, isCreator } = fieldsOf(job);
      return isUuid(uuid) ? [{ uuid, isCreator: isCreator === true }] : [];
    }),
    removed: listOf(removed, removedLimit).filter(isUuid),
    metrics: isJson(metrics, "object", textLimit) ? replaceBareNumbers(metrics, () => "null") : null,
  };
}

/** Undefined where there is no line, or one that nobody could have written. */
function parseLine(line: Buffer | undefined): unknown {
  if (line === undefined || line.length > lineLimit) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

const tooManyVersions = (most = 2 * countLimit) =>
  new TooMuch(`The job made, reused or removed more than ${most} dataset versions.`);

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
function listOf(value: unknown, most: number): unknown[] {
  if (!Array.isArray(value)) return [];
  if (value.length > most) throw tooManyVersions(most);
  return value;
}

/** Undefined: something that has no right name, or no right number, is not to be found by anybody. */
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
    needs: listOf(row["needs"], countLimit).flatMap((need) => readNeed(fieldsOf(need))),
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

/** Of characters that exist, none of them NUL: a store that is shared holds no others. */
const isText = (value: unknown, limit = textLimit): value is string =>
  typeof value === "string" && value.length <= limit && !value.includes("\0") && value.isWellFormed();
const textOf = (value: unknown, limit = textLimit) => (isText(value, limit) ? value : "");
const isName = (value: unknown): value is string => isText(value) && value !== "" && canBeKept(value);
const isUuid = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** Kept as text, but only text that is what it says. The library writes NaN and Infinity bare. */
function isJson(value: unknown, kind: "object" | "array", limit = documentLimit): value is string {
  if (!isText(value, limit)) return false;
  try {
    const parsed: unknown = JSON.parse(replaceBareNumbers(value, () => "null"));
    return typeof parsed === "object" && parsed !== null && Array.isArray(parsed) === (kind === "array");
  } catch {
    return false;
  }
}

function readCount(value: unknown): number | null {
  const count = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}
