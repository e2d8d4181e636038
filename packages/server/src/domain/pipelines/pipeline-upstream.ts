/**
 * Finds the jobs upstream of dataset versions. A version that the request named (a pinned version) is rebuilt from its
 * recorded lineage. Every other dataset is rebuilt once, by the newest job that created it, even if the lineage has
 * several of its versions.
 */

import type { Db } from "../../store/drivers/store.ts";
import { newestMade } from "../../store/queries/datasets/newest-made.ts";
import {
  type FoundNeed,
  findUpstream,
  makersOf,
  newestOf,
  type VersionNeed,
} from "../../store/queries/pipelines/pipeline-sources.ts";
import { type Graph, graphOf, mostNeeds } from "./pipeline-graph.ts";

/**
 * Maximum number of versions and of dependencies that are read. Reading more would block other transactions for too
 * long.
 */
export const mostUpstream = { versions: 20_000, needs: mostNeeds };

export interface UpstreamTarget {
  readonly id: number;
  readonly dataset_id: number;
  /** Whether the request named this version, so that exactly this version is rebuilt. */
  readonly isPinned: boolean;
}

/**
 * Returns the graph of the jobs that created the targets and everything upstream of the targets. Returns `tooLarge` if
 * the limits are exceeded.
 */
export async function upstreamGraph(
  db: Db,
  targets: readonly UpstreamTarget[],
  most = mostUpstream,
): Promise<Graph | { readonly tooLarge: true }> {
  const pinned = targets.filter(({ isPinned }) => isPinned).map(({ id }) => id);
  const exact = await findUpstream(db, pinned, most);
  if (!exact) return { tooLarge: true };
  // Precedence of versions of one dataset: pinned ones, then those upstream of a pinned one, then the newest.
  const chosen = new Map([...(await newestOf(db, exact.ids)), ...(await newestOf(db, pinned))]);
  for (const { id, dataset_id } of targets) if (!chosen.has(dataset_id)) chosen.set(dataset_id, id);
  const starts = targets.map(({ dataset_id }) => chosen.get(dataset_id) as number);
  const fixed = new Set(exact.ids);
  const left = { versions: most.versions - exact.ids.length, needs: most.needs - exact.needs.length };
  const newest = await findUpstream(
    db,
    starts.filter((id) => !fixed.has(id)),
    left,
    (needs) => chooseMakers(db, needs, chosen, fixed),
  );
  if (!newest) return { tooLarge: true };
  const ids = [...new Set([...exact.ids, ...newest.ids])];
  return graphOf(await makersOf(db, ids), [...exact.needs, ...newest.needs]);
}

/**
 * Returns the dependencies with the chosen version of each dataset in place of the recorded version. New choices are
 * added to `chosen`, so that later dependencies on the same dataset use the same version. Leaves out dependencies of
 * the versions in `fixed`.
 */
async function chooseMakers(
  db: Db,
  needs: readonly FoundNeed[],
  chosen: Map<number, number>,
  fixed: ReadonlySet<number>,
): Promise<VersionNeed[]> {
  const open = needs.filter(({ version_id }) => !fixed.has(version_id));
  const unknown = new Set(open.map(({ dataset_id }) => dataset_id).filter((id) => !chosen.has(id)));
  for (const { dataset_id, id } of (await newestMade(db, [...unknown])).values()) chosen.set(dataset_id, id);
  // If no job made the dataset, or all its versions are removed, the version in the lineage is used.
  for (const { dataset_id, needs_version_id } of open)
    if (unknown.has(dataset_id) && !chosen.has(dataset_id)) chosen.set(dataset_id, needs_version_id);
  return open.map(({ version_id, dataset_id }) => ({
    version_id,
    needs_version_id: chosen.get(dataset_id) as number,
  }));
}
