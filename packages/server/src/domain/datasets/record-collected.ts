/** Puts dataset versions into the registry as they were found in a team's warehouse, or as whoever made them says. */

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

export interface Found {
  readonly versions: readonly FoundVersion[];
  /** Which job made or reused which version, by uuid. */
  readonly jobs: readonly { readonly jobId: string; readonly uuid: string; readonly isCreator: boolean }[];
}

interface Recorded {
  /** Their numbers are taken. */
  readonly refused: string[];
  /** They were not known before. */
  readonly recorded: NewVersion[];
}

/** What a job did to its team's datasets, in the write that accepts its result. Returns what could not be recorded. */
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
  return refused;
}

/**
 * Idempotent: a version that is known by its uuid stays as it is, since nobody changes one; it may have been removed
 * since it was read. Runs inside the write that says why they are there.
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
    await putDependencies(db, id, await needsOf(version, idOf));
  }
  for (const { jobId, uuid, isCreator } of found.jobs) {
    const id = await idOf(uuid);
    if (id !== undefined) await linkJob(db, jobId, id, isCreator);
  }
  return { refused, recorded };
}

/** Those that are known; what was left out is nobody's dependency. */
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
 * Undefined: whoever makes datasets elsewhere registered this number, and what is registered is not overwritten. A number
 * of the team's own store that is given anew, after a copy was put back, is the new version.
 */
async function recordVersion(
  db: Db,
  teamId: number,
  datasetId: number,
  found: FoundVersion,
): Promise<number | undefined> {
  const { namespace, project, name, dataset, needs: _, ...row } = found;
  const numbers = readVersion(row.version);
  if (!numbers) throw new Error(`${row.version} is no version number`);
  const full = { ...row, ...numbers, dataset_id: datasetId, team_id: teamId };
  const there = await versionNumbered(db, full);
  if (!there) return insertVersion(db, full);
  if (there.rows_table === null && row.rows_table !== null) return undefined;
  await replaceVersion(db, there.id, full);
  return there.id;
}

/** Its dataset, looked up once for all its versions. */
function placeOf(db: Db, teamId: number, found: FoundVersion, places: Map<string, Promise<number>>): Promise<number> {
  const name = fullName(found);
  const place = places.get(name) ?? putPlace(db, teamId, found);
  places.set(name, place);
  return place;
}

/** A place gets its uuid from whoever was there first; it is only ever told, never looked up. */
async function putPlace(db: Db, teamId: number, found: FoundVersion): Promise<number> {
  const { namespace, project, name, dataset, created_at } = found;
  const made = { uuid: dataset.uuid, description: null, created_at };
  const namespaceId = await ensureNamespace(db, teamId, namespace, made);
  const projectId = await ensureProject(db, namespaceId, project, made);
  return putDataset(db, { team_id: teamId, project_id: projectId, name, created_at, ...dataset });
}
