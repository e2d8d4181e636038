/**
 * Turns lineage into a graph of jobs. Each node is a job that created a needed version. The parents of a node are the
 * jobs that created the versions that the job read.
 */
import type { SourceVersion, VersionNeed } from "../../store/queries/pipelines/pipeline-sources.ts";

export interface GraphNode {
  readonly jobId: string;
  readonly parents: readonly string[];
}

/**
 * Maximum number of dependencies in one graph. It is checked when the graph is built. It is also checked when a run is
 * removed, because the children of the run then depend on its parents.
 */
export const mostNeeds = 100_000;

export type Graph =
  /** The nodes, parents before children. */
  | { readonly nodes: readonly GraphNode[] }
  /** Id of a version that no job created. */
  | { readonly unmade: number }
  /** Ids of jobs that depend on each other: each on the next one, and the last on the first. */
  | { readonly cycle: readonly string[] };

/** Builds the graph of the jobs that created these versions. */
export function graphOf(versions: readonly SourceVersion[], needs: readonly VersionNeed[]): Graph {
  const makers = new Map<number, string>();
  for (const { id, maker } of versions) {
    if (maker === null) return { unmade: id };
    makers.set(id, maker);
  }
  const parents = new Map([...makers.values()].map((jobId) => [jobId, new Set<string>()]));
  for (const { version_id, needs_version_id } of needs) {
    const child = makers.get(version_id) as string;
    const parent = makers.get(needs_version_id) as string;
    // A job that reads its own dataset does not wait for itself.
    if (child !== parent) parents.get(child)?.add(parent);
  }
  return sorted(parents);
}

/** Sorts jobs topologically, parents before children. Returns a cycle if there is one. */
function sorted(parents: ReadonlyMap<string, ReadonlySet<string>>): Graph {
  const children = new Map([...parents.keys()].map((jobId) => [jobId, [] as string[]]));
  for (const [child, its] of parents) for (const parent of its) children.get(parent)?.push(child);
  const missing = new Map([...parents].map(([jobId, its]) => [jobId, its.size]));
  const order = [...missing].filter(([, count]) => count === 0).map(([jobId]) => jobId);
  for (const jobId of order) {
    for (const child of children.get(jobId) ?? []) {
      const count = (missing.get(child) as number) - 1;
      missing.set(child, count);
      if (count === 0) order.push(child);
    }
  }
  if (order.length < parents.size) return { cycle: cycleIn(parents, new Set(order)) };
  return { nodes: order.map((jobId) => ({ jobId, parents: [...(parents.get(jobId) ?? [])] })) };
}

/**
 * Returns a cycle among the jobs that are not in `done`. Each of them has a parent that is not in `done` either, so a
 * walk from parent to parent meets a job twice.
 */
function cycleIn(parents: ReadonlyMap<string, ReadonlySet<string>>, done: ReadonlySet<string>): string[] {
  const path = new Set<string>();
  let at = [...parents.keys()].find((jobId) => !done.has(jobId)) as string;
  while (!path.has(at)) {
    path.add(at);
    at = [...(parents.get(at) ?? [])].find((jobId) => !done.has(jobId)) as string;
  }
  const all = [...path];
  return all.slice(all.indexOf(at));
}
