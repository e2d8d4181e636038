/** Finds, lists, changes and removes datasets. */
import { ApiError, invalid, type RouteInput, type routes, versionStatus } from "@millrace/contract";
import { isInternal, isReserved, reservedBeginnings } from "../../datachain/names.ts";
import type { Db } from "../../store/drivers/store.ts";
import { liveVersionsOf, renameRowsTables, type ShortVersionRow } from "../../store/queries/datasets/all-versions.ts";
import {
  countVersions,
  findVersion,
  hasMoreVersions,
  type ListedVersionRow,
  listVersions,
  markVersionsRemoved,
  mostVersions,
  newestNumbers,
  sizedVersionsOf,
  storedVersion,
  versionsOfJob,
} from "../../store/queries/datasets/dataset-versions.ts";
import {
  type DatasetRow,
  type FullName,
  findDataset,
  listDatasets,
  type PlacedDataset,
  placedDataset,
  placeOf,
  updateDataset,
} from "../../store/queries/datasets/datasets.ts";
import { BoundedList } from "../../turns/bounded-list.ts";
import { nextLook, nextStretch } from "../../turns/large-answers.ts";
import { audit } from "../access/audit.ts";
import type { Edit } from "../access/edit.ts";
import type { Team } from "../access/principals.ts";
import { iso } from "../time/clock.ts";
import { datasetText, listedDatasetText } from "./dataset-documents.ts";
import {
  canBeKept,
  fullName,
  homeOf,
  type Reference,
  readReference,
  readVersion,
  type Version,
  writeVersion,
} from "./dataset-names.ts";
import { noSuchDataset } from "./dataset-namesakes.ts";
import { versionTexts } from "./version-texts.ts";

/**
 * The name of a dataset in a request. The client sends namespace, project and name separately; users may type all three
 * into `name`.
 */
interface Named {
  readonly name: string;
  readonly namespace?: string | null;
  readonly project?: string | null;
  readonly version?: string | null;
}

/**
 * Returns the dataset that a request names. For a short name, the client sends `local` as namespace and project, which
 * stands for the user's own namespace and project.
 */
export function readNamed({ name, namespace, project, version }: Named, username: string): Reference {
  const typed = version ? readVersionOf(version) : undefined;
  if (!namespace && !project) {
    const reference = readReference(name.replace(/^ds:\/\//, ""), username, "name");
    return { ...reference, version: typed ?? reference.version };
  }
  const isShort = namespace === "local" && project === "local";
  const place = isShort ? {} : { ...(namespace ? { namespace } : {}), ...(project ? { project } : {}) };
  return { ...homeOf(username), ...place, name, version: typed };
}

function readVersionOf(text: string): Version {
  const version = readVersion(text);
  if (!version) throw invalid("version", "three numbers such as 1.0.2", text);
  return version;
}

const isLive = ({ status }: { readonly status: number }) => status === versionStatus.complete;

async function getDataset(db: Db, team: Team, reference: FullName): Promise<DatasetRow> {
  const dataset = await findDataset(db, team.id, reference);
  if (dataset) return dataset;
  throw await noSuchDataset(db, team, reference);
}

const sameNumber = (version: Version) => (row: Version) =>
  row.major === version.major && row.minor === version.minor && row.patch === version.patch;

/**
 * Returns the version that a reference names. If it names none, returns the newest live version. Throws if there is no
 * such version, or if the version was removed.
 */
export async function getLiveVersion(db: Db, team: Team, reference: Reference): Promise<ListedVersionRow> {
  const { id } = await getDataset(db, team, reference);
  const { version } = reference;
  const found = await findVersion(db, id, version);
  if (found && isLive(found)) return found;
  const name = fullName(reference);
  if (found)
    throw new ApiError(
      "not_found",
      `${name}@${found.version} no longer exists: it was removed at ${found.removed_at}.`,
    );
  const numbers = await newestNumbers(db, id, 10);
  const wanted = version ? `${name}@${writeVersion(version)}` : `version of ${name}`;
  const others = numbers.length > 0 ? `Newest versions: ${numbers.join(", ")}.` : "All its versions were removed.";
  throw new ApiError("not_found", `There is no ${wanted} in the team ${team.name}. ${others}`);
}

type ListQuery = RouteInput<typeof routes.listDatasets>["query"];

/** Maximum number of datasets that are read at a time. */
const listPart = 200;
/** A list with more datasets than this takes one of the slots for large answers. */
const fewFound = 50;

interface DatasetTexts {
  /** JSON text of each dataset. */
  readonly datasets: readonly string[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: number | undefined;
}

/**
 * Lists the datasets of a team. If the answer reaches its size limit, the page has fewer than `limit` datasets, and
 * `next` is the cursor of the next page.
 */
export async function listTeamDatasets(db: Db, team: Team, query: ListQuery): Promise<DatasetTexts> {
  const { include_removed = false, limit = Number.MAX_SAFE_INTEGER } = query;
  if (query.cursor !== undefined && !(await placeOf(db, team.id, query.cursor)))
    throw invalid("cursor", "the x-next-cursor of the previous page", query.cursor);
  const list = new BoundedList();
  for (let after = query.cursor; ; ) {
    // A search that finds little holds nothing in memory, however long it takes.
    await (list.length > fewFound ? nextStretch() : nextLook());
    const datasets = await listDatasets(db, team.id, after, listPart, nextLook);
    for (const part of await smallParts(db, datasets.filter(isWanted(query)), include_removed)) {
      const versions = Map.groupBy(
        await listVersions(
          db,
          part.map(({ id }) => id),
          include_removed,
        ),
        ({ dataset_id }) => dataset_id,
      );
      for (const dataset of part) {
        const text = () => listedDatasetText(dataset, versions.get(dataset.id) ?? []);
        if (list.length >= limit || !(await list.add(text()))) return { datasets: list.texts, next: after };
        after = dataset.id;
      }
    }
    if (datasets.length < listPart) return { datasets: list.texts, next: undefined };
    after = datasets.at(-1)?.id;
  }
}

const isWanted = ({ prefix = "", search = "" }: ListQuery) => {
  const part = search.toLowerCase();
  return (dataset: PlacedDataset) => {
    const { name } = dataset;
    const place = { namespace: dataset.namespace.name, project: dataset.project.name, name };
    const full = fullName(place);
    if (isInternal(place) || !(name.startsWith(prefix) || full.startsWith(prefix))) return false;
    return full.toLowerCase().includes(part);
  };
};

/**
 * Divides datasets into groups, so that one statement can read all versions of a group. Datasets without versions are
 * left out.
 */
async function smallParts(db: Db, datasets: readonly PlacedDataset[], includeRemoved: boolean) {
  const counts = await countVersions(
    db,
    datasets.map(({ id }) => id),
    includeRemoved,
  );
  const found: PlacedDataset[][] = [];
  let size = mostVersions;
  for (const dataset of datasets) {
    const count = counts.get(dataset.id) ?? 0;
    if (count === 0) continue;
    size += count;
    if (size > mostVersions) {
      found.push([]);
      size = count;
    }
    found.at(-1)?.push(dataset);
  }
  return found;
}

/** A dataset with more versions takes one of the slots for large answers. */
const fewVersions = 500;

/**
 * Call it before all versions of a dataset are read. If they are many, waits until one of the slots for large answers is
 * free: the rows are held until the end of the request.
 */
async function takeSlotForMany(db: Db, datasetId: number, includeRemoved: boolean): Promise<void> {
  if (await hasMoreVersions(db, datasetId, fewVersions, includeRemoved)) await nextStretch();
}

/**
 * Returns the JSON of a dataset with all its versions. The version that the reference names always has its schemas,
 * first rows and script. The other versions have theirs as far as they fit into the answer.
 */
export async function showDataset(db: Db, team: Team, reference: Reference, includeRemoved: boolean): Promise<string> {
  const { id } = await getDataset(db, team, reference);
  await nextLook();
  await takeSlotForMany(db, id, includeRemoved);
  const versions = await sizedVersionsOf(db, id, includeRemoved);
  const dataset = await placedDataset(db, id);
  if (dataset && versions.length > 0) {
    const isNamed = reference.version ? sameNumber(reference.version) : () => false;
    return datasetText(dataset, await versionTexts(db, versions, isNamed));
  }
  throw new ApiError("not_found", `All versions of ${fullName(reference)} were removed.`);
}

/** Number of versions of a job that one statement reads. */
const jobPart = 500;
/** Largest number of versions of a job that an answer has; the first ones are shown. */
const mostShownOfJob = 4000;

/** Returns the JSON of the list of versions that a job created or reused. */
export async function listJobVersions(db: Db, team: Team, jobId: string): Promise<string> {
  const list = new BoundedList();
  for (let after = 0, read = 0; read < mostShownOfJob; read += jobPart) {
    if (read > 0) await nextStretch();
    const rows = await versionsOfJob(db, team.id, jobId, after, jobPart);
    for (const row of rows)
      if (!isInternal(row)) await list.add(JSON.stringify({ dataset_name: fullName(row), version: row.version }));
    if (rows.length < jobPart) break;
    after = rows.at(-1)?.version_id ?? 0;
  }
  return `{"dataset_versions":[${list.texts.join(",")}]}`;
}

interface Changes {
  readonly new_name?: string | null;
  readonly description?: string | null;
  readonly attrs?: readonly string[] | null;
}

/** A change to a dataset; undefined fields stay as they are. */
export interface DatasetEdit {
  readonly reference: FullName;
  readonly dataset: DatasetRow;
  readonly name?: string;
  readonly description?: string;
  readonly attrs?: readonly string[];
  /**
   * Uuid of any version of the dataset that has rows in the team's warehouse. The dataset is found in the warehouse by
   * this uuid. Undefined if no version has rows there.
   */
  readonly stored: string | undefined;
}

/**
 * Checks a requested change to a dataset, and returns what to change. A null field, or an empty name, means no change.
 */
export async function planEdit(db: Db, team: Team, reference: FullName, changes: Changes): Promise<DatasetEdit> {
  const dataset = await getDataset(db, team, reference);
  const { new_name, description, attrs } = changes;
  const name = new_name && new_name !== dataset.name ? checkName("new_name", new_name) : undefined;
  const edit = {
    reference,
    dataset,
    ...(name === undefined ? {} : { name }),
    ...(typeof description === "string" ? { description } : {}),
    ...(attrs ? { attrs } : {}),
    stored: await storedVersion(db, dataset.id),
  };
  await requireFree(db, team, edit);
  return edit;
}

const beginnings = reservedBeginnings.join(", ").replace(/, (?=\w+$)/, " or ");

/**
 * Returns the name. Throws if the name is empty or too long, contains a dot, an @, a slash or a space, or begins with a
 * prefix that the library reserves.
 */
export function checkName(field: string, name: string): string {
  const isFree = !/[.@/\s\0]/.test(name) && !isReserved(name);
  if (name !== "" && name.length <= 255 && isFree && canBeKept(name)) return name;
  throw invalid(
    field,
    `a name of at most 255 characters, without dots, slashes, spaces and @, that does not begin with ${beginnings}`,
    name,
  );
}

/** Throws if the new name of a dataset is taken. */
async function requireFree(db: Db, team: Team, { reference, name }: DatasetEdit): Promise<void> {
  if (name === undefined || !(await findDataset(db, team.id, { ...reference, name }))) return;
  throw new ApiError("wrong_state", `${fullName({ ...reference, name })} already exists. Choose another name.`);
}

/**
 * Records a change of a dataset in the registry, after the team's warehouse has been changed. `tableOf` returns the
 * name of the table that holds a version's rows; this name depends on the dataset's name.
 */
export async function applyEdit(
  { db, actor, now }: Edit,
  team: Team,
  edit: DatasetEdit,
  tableOf: (version: FullName & { version: string }) => string,
): Promise<void> {
  const { reference, dataset, name, description, attrs } = edit;
  await requireFree(db, team, edit);
  const changes = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(attrs === undefined ? {} : { attrs: JSON.stringify(attrs) }),
  };
  if (Object.keys(changes).length === 0) return;
  await updateDataset(db, dataset.id, changes);
  if (name !== undefined) await renameRowsTables(db, dataset.id, (version) => tableOf({ ...reference, name, version }));
  const detail = Object.keys(changes).join(", ") + (name === undefined ? "" : `: ${name}`);
  await audit(db, actor, { action: "dataset.edit", team, target: fullName(reference), detail }, now);
}

/** The versions of a dataset that are to be removed. */
export interface Removal {
  readonly reference: FullName;
  readonly versions: readonly ShortVersionRow[];
}

/**
 * Returns the versions to remove: the version that the reference names, or all versions if it names none. Removing all
 * versions needs `force`.
 */
export async function planRemoval(db: Db, team: Team, reference: Reference, force: boolean): Promise<Removal> {
  if (reference.version) return { reference, versions: [await getLiveVersion(db, team, reference)] };
  const name = fullName(reference);
  if (!force)
    throw new ApiError(
      "bad_request",
      `version: expected a version, as in ${name}@1.0.0. To remove all versions of ${name}, set \`force\`.`,
    );
  const { id } = await getDataset(db, team, reference);
  await takeSlotForMany(db, id, false);
  const versions = await liveVersionsOf(db, id);
  if (versions.length > 0) return { reference, versions };
  throw new ApiError("not_found", `All versions of ${name} were removed before, so there is nothing to remove.`);
}

/**
 * Marks versions as removed, after their rows were deleted from the team's warehouse. The registry keeps an entry of
 * each removed version, so that its number is not used again.
 */
export async function applyRemoval({ db, actor, now }: Edit, team: Team, removal: Removal): Promise<void> {
  const ids = removal.versions.map(({ id }) => id);
  await markVersionsRemoved(db, ids, iso(now));
  const detail = removal.versions.map(({ version }) => version).join(", ");
  await audit(db, actor, { action: "dataset.remove", team, target: fullName(removal.reference), detail }, now);
}
