/** Adds to the registry the dataset versions that were found in a team's warehouse. */

import { noteChange } from "../../store/drivers/noted-store.ts";
import type { Db } from "../../store/drivers/store.ts";
import { nextTurn } from "../../store/queries/batches.ts";
import {
  insertVersion,
  linkJob,
  markRemoved,
  type Need,
  putDependencies,
  replaceVersion,
  versionIdOf,
  versionNumbered,
} from "../../store/queries/datasets/dataset-versions.ts";
import { ensureNamespace, ensureProject, putDataset } from "../../store/queries/datasets/datasets.ts";
import { touchWarehouse } from "../../store/queries/datasets/warehouses.ts";
import { fullName, readVersion } from "./dataset-names.ts";
import type { Collected, FoundVersion } from "./parse-collected.ts";
import { type NewVersion, noticeVersions } from "./version-notices.ts";

/** Versions that were found in a team's warehouse, and the jobs that created or reused them. */
export interface Found {
  readonly versions: readonly FoundVersion[];
  /** Which job created (`isCreator` is true) or reused (`isCreator` is false) the version with this uuid. */
  readonly jobs: readonly { readonly jobId: string; readonly uuid: string; readonly isCreator: boolean }[];
}

interface Recorded {
  /**
   * Full names of versions that were not recorded, because an external producer had registered the same version
   * numbers.
   */
  readonly refused: string[];
  /** Versions that the registry did not have before. */
  readonly recorded: NewVersion[];
}

/**
 * Records what a job did to its team's datasets. Call it in the transaction that accepts the job's result. Returns the
 * full names of versions that could not be recorded.
 */
export async function recordCollected(
  db: Db,
  jobId: string,
  { teamId, versions, jobs, removed }: Omit<Collected, "metrics"> & { readonly teamId: number },
  now: string,
): Promise<string[]> {
  const found = { versions, jobs: jobs.map((job) => ({ ...job, jobId })) };
  const { refused, recorded } = await recordVersions(db, teamId, found);
  await noticeVersions(db, recorded, jobId, Date.parse(now));
  await markRemoved(db, teamId, removed, now);
  await touchWarehouse(db, teamId, now);
  noteChange(db, "datasets", teamId);
  return refused;
}

/**
 * Adds versions, their dependencies and their jobs to the registry. A version whose uuid is already in the registry is
 * skipped: versions never change, and a version that was removed meanwhile must stay removed.
 */
export async function recordVersions(db: Db, teamId: number, found: Found): Promise<Recorded> {
  const ids = new Map<string, number>();
  const refused: string[] = [];
  const recorded: NewVersion[] = [];
  const places = new Map<string, Promise<number>>();
  for (const version of found.versions) {
    const datasetId = await placeOf(db, teamId, version, places);
    if (ids.has(version.uuid) || (await versionIdOf(db, teamId, version.uuid)) !== undefined) continue;
    await nextTurn();
    const id = await recordVersion(db, teamId, datasetId, version);
    const name = `${fullName(version)}@${version.version}`;
    if (id === undefined) refused.push(name);
    else {
      ids.set(version.uuid, id);
      recorded.push({ datasetId, name });
    }
  }
  const idOf = async (uuid: string) => ids.get(uuid) ?? (await versionIdOf(db, teamId, uuid));
  for (const version of found.versions) {
    const id = ids.get(version.uuid);
    if (id === undefined) continue;
    await nextTurn();
    await putDependencies(db, { teamId, versionId: id }, await needsOf(version, idOf));
  }
  for (const { jobId, uuid, isCreator } of found.jobs) {
    const id = await idOf(uuid);
    if (id !== undefined) await linkJob(db, jobId, id, isCreator);
  }
  return { refused, recorded };
}

/** Returns the dependencies of a version. Dependencies on versions that the registry does not have are dropped. */
async function needsOf({ needs }: FoundVersion, idOf: (uuid: string) => Promise<number | undefined>): Promise<Need[]> {
  const found = await Promise.all(
    needs.map(async (need) => {
      if ("uri" in need) return [{ needs_uri: need.uri }];
      const id = await idOf(need.uuid);
      return id === undefined ? [] : [{ needs_version_id: id }];
    }),
  );
  return found.flat();
}

/**
 * Records one version and returns its id. If an external producer has registered a version with this number, returns
 * undefined and changes nothing. If a version of the team's warehouse has this number, the new version replaces it,
 * because jobs use numbers again after an older copy of the warehouse was restored.
 */
async function recordVersion(
  db: Db,
  teamId: number,
  datasetId: number,
  found: FoundVersion,
): Promise<number | undefined> {
  const { namespace, project, name, dataset, needs: _, ...row } = found;
  const numbers = readVersion(row.version);
  if (!numbers) throw new Error(`Expected a version number such as 1.0.2, got ${row.version}.`);
  const full = { ...row, ...numbers, dataset_id: datasetId, team_id: teamId };
  const there = await versionNumbered(db, full);
  if (!there) return insertVersion(db, full);
  if (there.rows_table === null && row.rows_table !== null) return undefined;
  await replaceVersion(db, there.id, full);
  return there.id;
}

/** Returns the id of the version's dataset, which is created if it is missing. `places` caches the ids by full name. */
function placeOf(db: Db, teamId: number, found: FoundVersion, places: Map<string, Promise<number>>): Promise<number> {
  const name = fullName(found);
  const place = places.get(name) ?? putPlace(db, teamId, found);
  places.set(name, place);
  return place;
}

/**
 * Creates or updates the dataset, and returns its id. A missing namespace or project is created, with the same uuid as
 * the dataset.
 */
async function putPlace(db: Db, teamId: number, found: FoundVersion): Promise<number> {
  const { namespace, project, name, dataset, created_at } = found;
  const made = { uuid: dataset.uuid, description: null, created_at };
  const namespaceId = await ensureNamespace(db, teamId, namespace, made);
  const projectId = await ensureProject(db, namespaceId, project, made);
  return putDataset(db, { team_id: teamId, project_id: projectId, name, created_at, ...dataset });
}
