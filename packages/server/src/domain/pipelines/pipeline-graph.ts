/** How lineage becomes a graph of jobs: one node for each job that made a needed version, parents by what it needed. */
import type { SourceVersion, VersionNeed } from "../../store/queries/pipelines/pipeline-sources.ts";

export interface GraphNode {
  readonly jobId: string;
  readonly parents: readonly string[];
}

/** Needs in one graph, as found in lineage and as left when a run is taken out. */
export const mostNeeds = 100_000;

export type Graph =
  /** Parents before children. */
  | { readonly nodes: readonly GraphNode[] }
  /** A version that no job made. */
  | { readonly unmade: number }
  /** Jobs each of which needs what the next one made, and the last the first. */
  | { readonly cycle: readonly string[] };

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
    // What a job made itself on the way to something else is no reason to wait.
    if (child !== parent) parents.get(child)?.add(parent);
  }
  return sorted(parents);
}

/** Takes away, again and again, what waits for nothing; what is left at the end waits for itself. */
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

/** Every job that is left has a parent that is left: following those, one comes by twice. */
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
