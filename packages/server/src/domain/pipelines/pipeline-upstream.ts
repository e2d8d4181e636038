/**
 * Which jobs lie upstream of some versions. A dataset that nobody named a version of is made once, by the newest job that
 * made it, whichever of its versions the lineage reached; a version that was named brings its lineage as it was.
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

/** Looked at to find the jobs: more would hold up everybody else's writes. */
export const mostUpstream = { versions: 20_000, needs: mostNeeds };

export interface UpstreamTarget {
  readonly id: number;
  readonly dataset_id: number;
  /** Somebody named this version. */
  readonly isPinned: boolean;
}

/** The jobs that make these targets and everything upstream of them. */
export async function upstreamGraph(
  db: Db,
  targets: readonly UpstreamTarget[],
  most = mostUpstream,
): Promise<Graph | { readonly tooLarge: true }> {
  const pinned = targets.filter(({ isPinned }) => isPinned).map(({ id }) => id);
  const exact = await findUpstream(db, pinned, most);
  if (!exact) return { tooLarge: true };
  // Versions that were named win over those that they were made from, and these over the newest.
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

/** The version that stands for each need, and for every later one of its dataset. */
async function chooseMakers(
  db: Db,
  needs: readonly FoundNeed[],
  chosen: Map<number, number>,
  fixed: ReadonlySet<number>,
): Promise<VersionNeed[]> {
  const open = needs.filter(({ version_id }) => !fixed.has(version_id));
  const unknown = new Set(open.map(({ dataset_id }) => dataset_id).filter((id) => !chosen.has(id)));
  for (const { dataset_id, id } of (await newestMade(db, [...unknown])).values()) chosen.set(dataset_id, id);
  // Of a dataset that no job made, or whose versions are all gone, the newest that was reached.
  for (const { dataset_id, needs_version_id } of open)
    if (unknown.has(dataset_id) && !chosen.has(dataset_id)) chosen.set(dataset_id, needs_version_id);
  return open.map(({ version_id, dataset_id }) => ({
    version_id,
    needs_version_id: chosen.get(dataset_id) as number,
  }));
}
