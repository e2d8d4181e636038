/** The graph as columns: an edge over several columns passes through an invisible point in each column between. */
import type { Neighbours } from "./ranks.ts";

/** Points up to `real` are nodes, the others are passed by long edges. */
export interface Columns {
  readonly real: number;
  /** The column of each point. */
  readonly ranks: readonly number[];
  /** Neighbours of each point in the column to the left and to the right. */
  readonly left: readonly (readonly number[])[];
  readonly right: readonly (readonly number[])[];
  /** The points that an edge passes, its ends included, by the edge's place in the list of edges. */
  readonly paths: readonly (readonly number[])[];
}

/** Above this many points of long edges, long edges are drawn straight. */
const mostPoints = 20_000;

export function columnsOf(ends: readonly (readonly [number, number])[], nodeRanks: readonly number[]): Columns {
  const ranks = [...nodeRanks];
  const span = ([from, to]: readonly [number, number]) => (nodeRanks[to] ?? 0) - (nodeRanks[from] ?? 0);
  const bends = ends.reduce((all, end) => all + Math.max(0, span(end) - 1), 0) <= mostPoints;
  const paths = ends.map((end) => {
    const [from, to] = end;
    const between = bends ? Math.max(0, span(end) - 1) : 0;
    const points = Array.from({ length: between }, (_, step) => ranks.push((nodeRanks[from] ?? 0) + step + 1) - 1);
    return [from, ...points, to];
  });
  const left: number[][] = ranks.map(() => []);
  const right: number[][] = ranks.map(() => []);
  for (const path of paths) {
    for (let step = 1; step < path.length; step++) {
      const [a, b] = [path[step - 1] ?? 0, path[step] ?? 0];
      if ((ranks[b] ?? 0) - (ranks[a] ?? 0) !== 1) continue;
      right[a]?.push(b);
      left[b]?.push(a);
    }
  }
  return { real: nodeRanks.length, ranks, left, right, paths };
}

export const neighboursOf = (count: number, ends: readonly (readonly [number, number])[]): Neighbours => {
  const before: number[][] = Array.from({ length: count }, () => []);
  const after: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of ends) {
    before[to]?.push(from);
    after[from]?.push(to);
  }
  return { before, after };
};
