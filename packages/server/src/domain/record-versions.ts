/** Puts dataset versions into the registry as they were found in a team's store, or as whoever made them says. */

import {
  type DatasetVersionRow,
  linkJob,
  markRemoved,
  putDependencies,
  putVersion,
  versionIdOf,
} from "../store/dataset-versions.ts";
import { ensureNamespace, ensureProject, type FullName, putDataset } from "../store/datasets.ts";
import type { Db } from "../store/store.ts";
import { touchTeamStore } from "../store/team-stores.ts";
import { readVersion } from "./dataset-names.ts";
import type { Collected } from "./found-versions.ts";

type Fixed = "id" | "dataset_id" | "team_id" | "major" | "minor" | "patch";

export interface FoundVersion extends FullName, Omit<DatasetVersionRow, Fixed> {
  readonly dataset: { readonly uuid: string; readonly description: string | null; readonly attrs: string };
  /** Versions by their uuid, known before or found along with this one; anything else by its storage URI. */
  readonly needs: readonly ({ readonly uuid: string } | { readonly uri: string })[];
}

export interface Found {
  readonly versions: readonly FoundVersion[];
  /** Which job made or reused which version, by uuid. */
  readonly jobs: readonly { readonly jobId: string; readonly uuid: string; readonly isCreator: boolean }[];
}

/** What a job did to its team's datasets, in the write that accepts its result. */
export async function recordCollected(
  db: Db,
  jobId: string,
  { teamId, versions, jobs, removed }: Collected & { readonly teamId: number },
  now: string,
): Promise<void> {
  await recordVersions(db, teamId, { versions, jobs: jobs.map((job) => ({ ...job, jobId })) });
  await markRemoved(db, teamId, removed, now);
  await touchTeamStore(db, teamId, now);
}

/** Idempotent: found again, nothing changes. Runs inside the write that says why they are there. */
export async function recordVersions(db: Db, teamId: number, found: Found): Promise<void> {
  const ids = new Map<string, number>();
  for (const version of found.versions) ids.set(version.uuid, await recordVersion(db, teamId, version));
  const idOf = async (uuid: string) => ids.get(uuid) ?? (await versionIdOf(db, teamId, uuid));
  for (const version of found.versions) {
    const needs = await Promise.all(
      version.needs.map(async (need) => {
        if ("uri" in need) return [{ needs_uri: need.uri }];
        const id = await idOf(need.uuid);
        return id === undefined ? [] : [{ needs_version_id: id }];
      }),
    );
    await putDependencies(db, ids.get(version.uuid) as number, needs.flat());
  }
  for (const { jobId, uuid, isCreator } of found.jobs) {
    const id = await idOf(uuid);
    if (id !== undefined) await linkJob(db, jobId, id, isCreator);
  }
}

async function recordVersion(db: Db, teamId: number, found: FoundVersion): Promise<number> {
  const { namespace, project, name, dataset, needs: _, ...row } = found;
  const { created_at } = row;
  const numbers = readVersion(row.version);
  if (!numbers) throw new Error(`${row.version} is no version number`);
  // A place gets its uuid from whoever was there first; it is only ever told, never looked up.
  const made = { uuid: dataset.uuid, description: null, created_at };
  const namespaceId = await ensureNamespace(db, teamId, namespace, made);
  const projectId = await ensureProject(db, namespaceId, project, made);
  const datasetId = await putDataset(db, { team_id: teamId, project_id: projectId, name, created_at, ...dataset });
  return putVersion(db, { ...row, ...numbers, dataset_id: datasetId, team_id: teamId });
}
